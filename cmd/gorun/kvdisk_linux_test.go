package main

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// smallDisk is a file system of its own, of so many bytes, that is there until
// the test ends. Only root may make one.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "disk")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=0700,size="+size); err != nil {
		t.Skipf("this user cannot mount a small file system (root can): %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fill takes all the space that is left, and returns the file that has it.
func fill(t *testing.T, disk string) string {
	t.Helper()
	var s unix.Statfs_t
	if err := unix.Statfs(disk, &s); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(disk, "filler")
	if err := os.WriteFile(path, make([]byte, int64(s.Bavail)*s.Bsize), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestFullDisk has a disk that is really full: a text that has room in memory
// is the one that it would be, one that needs the disk ends with an error, and
// what was remembered before, or is when there is space again, is sound.
func TestFullDisk(t *testing.T) {
	disk := smallDisk(t, "2m")
	dir := filepath.Join(disk, "kv")
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	run := func(args ...string) (outcome, result) {
		t.Helper()
		log.Reset()
		got := gorun("", append([]string{"run", "-n", "40", "--temp", "0", "--json", "--kv-block", "4"}, args...)...)
		var r result
		if err := json.Unmarshal([]byte(got.out), &r); got.out != "" && err != nil {
			t.Fatalf("%v: %+v", err, got)
		}
		return got, r
	}
	check := func() {
		t.Helper()
		if got := gorun("", "kv", "check", "--dir", dir); got.code != 0 {
			t.Errorf("%+v", got)
		}
	}
	_, want := run("-p", "Dorothy")
	if got, r := run("-p", "Dorothy", "-n", "4", "--session", "before", "--kv-cold", dir); got.code != 0 || !strings.HasPrefix(want.Text, r.Text) {
		t.Fatalf("%+v", got)
	}
	filler := fill(t, disk)
	if got, r := run("-p", "Dorothy", "--kv-cold", dir); got.code != 0 || r.Text != want.Text || strings.Count(log.String(), "no space left") != 2 {
		t.Errorf("in memory: %+v, %s", got, &log)
	}
	check()
	if got, r := run("-p", "Dorothy", "--kv-cold", dir, "--session", "full"); got.code != exitError || r.Text != want.Text || !strings.Contains(got.err, "no space left") {
		t.Errorf("to be remembered: %+v", got)
	}
	check()
	got, r := run("-p", "Dorothy", "--kv-cold", dir, "--kv-hot", "48KiB")
	if got.code != exitError || !strings.HasPrefix(want.Text, r.Text) || !strings.Contains(got.err, "no space left") || !strings.Contains(got.err, "KV cache is full") {
		t.Errorf("on the disk: %+v", got)
	}
	check()
	if got := gorun("", "kv", "show", "before", "--dir", dir); got.code != 0 {
		t.Errorf("%+v", got)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if got, r := run("-p", "Dorothy", "--kv-cold", dir, "--kv-hot", "48KiB", "--session", "after"); got.code != 0 || r.Text != want.Text || r.CachedTokens != 0 && r.CachedTokens >= r.PromptTokens {
		t.Errorf("when there is space again: %+v", got)
	}
	check()
}

// TestReadOnlyDisk: what is there can be looked at; to write more is refused,
// with the reason.
func TestReadOnlyDisk(t *testing.T) {
	disk := smallDisk(t, "8m")
	dir := filepath.Join(disk, "kv")
	args := []string{"run", "-p", "Dorothy", "-n", "4", "--temp", "0", "--session", "tale", "--kv-cold", dir}
	if got := gorun("", args...); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	if err := unix.Mount("", disk, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{{"ls"}, {"show", "tale"}, {"check"}} {
		if got := gorun("", append([]string{"kv"}, append(command, "--dir", dir)...)...); got.code != 0 {
			t.Errorf("%v: %+v", command, got)
		}
	}
	for _, command := range [][]string{args, {"kv", "prune", "--most", "0B", "--dir", dir}} {
		if got := gorun("", command...); got.code != exitError || !strings.Contains(got.err, "read-only") || !strings.Contains(got.err, dir) {
			t.Errorf("%v: %+v", command, got)
		}
	}
	args[len(args)-1] = filepath.Join(disk, "new")
	if got := gorun("", args...); got.code != exitError || !strings.Contains(got.err, "read-only") {
		t.Errorf("a new directory: %+v", got)
	}
}

// TestReadOnlyDirectory is the same for a directory that its owner cannot
// write to.
func TestReadOnlyDirectory(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root writes everywhere; TestReadOnlyDisk is for root")
	}
	dir := filepath.Join(t.TempDir(), "kv")
	if err := os.Mkdir(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	if got := gorun("", "run", "-p", "x", "-n", "1", "--kv-cold", dir); got.code != exitError || !strings.Contains(got.err, "permission denied") {
		t.Errorf("%+v", got)
	}
}
