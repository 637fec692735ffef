//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"gorun/kvtier/store"
)

// beMain makes the test's own binary the program.
const beMain = "GORUN_TEST_IS_MAIN"

func TestMain(m *testing.M) {
	switch os.Getenv(beMain) {
	case "":
	case "waiting": // for a person, it believes
		os.Exit(execute(os.Args[1:], &streams{in: os.Stdin, out: os.Stdout, err: os.Stderr, term: terminals{in: true}}))
	default:
		main()
	}
	os.Exit(m.Run())
}

// TestKill kills a program that remembers at random points. What is left must
// be sound, and the text must go on as if nothing had been.
func TestKill(t *testing.T) {
	kills := 12
	if os.Getenv("GORUN_LONG") != "" {
		kills = 200
	}
	dir := filepath.Join(t.TempDir(), "kv")
	r := rand.New(rand.NewPCG(3, 4))
	args := []string{"run", "-p", " and", "-n", "30", "--temp", "0", "--kv-block", "4", "--kv-hot", "60KiB", "--kv-cold", dir + ":2MiB", "--session"}
	survived, began := 0, 0
	for i := range kills {
		name := fmt.Sprintf("tale%d", i/6) // the context of the demo model is short
		c := exec.Command(os.Args[0], append(args, name)...)
		c.Env = append(os.Environ(), beMain+"=1")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(r.IntN(250)) * time.Millisecond)
		_ = c.Process.Kill() // it may have ended
		if c.Wait() == nil {
			survived++
		}
		if _, err := os.Stat(filepath.Join(dir, "key")); err != nil {
			continue // it had not begun
		}
		began++
		if got := gorun("", "kv", "check", "--dir", dir, "--json"); got.code != 0 {
			t.Fatalf("after kill %d: %+v", i, got)
		}
		goesOn(t, dir, name)
	}
	t.Logf("%d of %d runs ended before they were killed, %d had begun", survived, kills, began)
	if began == 0 {
		t.Error("every run was killed before it began")
	}
}

// TestTerminate asks programs to end, by SIGTERM, while they write a text and
// while a chat waits for its user. What was said until then is remembered, to
// its last token.
func TestTerminate(t *testing.T) {
	for name, args := range map[string][]string{
		"writing": {"-p", "Dorothy lived"},
		"waiting": {"-n", "8"},
	} {
		dir := filepath.Join(t.TempDir(), "kv")
		common := []string{"run", "--temp", "0", "--kv-block", "4", "--kv-cold", dir, "--session", name}
		c := exec.Command(os.Args[0], append(common, args...)...)
		c.Env = append(os.Environ(), beMain+"="+name)
		in, err := c.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		if name == "waiting" {
			if _, err := io.WriteString(in, "Who is Dorothy?\n"); err != nil {
				t.Fatal(err)
			}
			// The line ends with the answer.
			if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		} else if _, err := out.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		if err := c.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, out); err != nil {
			t.Fatal(err)
		}
		if err := c.Wait(); c.ProcessState.ExitCode() != exitInterrupted {
			t.Errorf("%s: %v", name, err)
		}
		if got := gorun("", "kv", "check", "--dir", dir); got.code != 0 {
			t.Errorf("%s: %+v", name, got)
		}
		more := []string{"-n", "2", "--json", "-p", " and"}
		if name == "waiting" {
			more = append(more, "--chat")
		}
		got := gorun("", append(common, more...)...)
		var r result
		if err := json.Unmarshal([]byte(got.out), &r); err != nil || got.code != 0 || r.CachedTokens < 4 || name == "writing" && r.PromptTokens-r.CachedTokens > 4 {
			t.Errorf("%s: %v, %+v", name, err, got)
		}
		t.Logf("%s: %d of %d tokens remembered", name, r.CachedTokens, r.PromptTokens)
	}
}

// goesOn wants the text of a session to go on as it does without one.
func goesOn(t *testing.T, dir, name string) {
	t.Helper()
	s, err := store.Open(store.Options{FS: store.Dir(dir), Look: true})
	if err != nil {
		t.Fatal(err)
	}
	session, err := s.LoadSession("", name)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		return
	}
	copied := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	private(t, copied)
	var with, without result
	got := gorun("", "run", "--session", name, "-p", " the", "-n", "8", "--temp", "0", "--json", "--kv-block", "4", "--kv-cold", copied)
	if err := json.Unmarshal([]byte(got.out), &with); err != nil || got.code != 0 {
		t.Fatalf("%v, %+v", err, got)
	}
	// The same session without what is remembered of its keys and values.
	bare := filepath.Join(t.TempDir(), "bare")
	b, err := store.Open(store.Options{FS: store.Dir(bare)})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.SaveSession("", session); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	got = gorun("", "run", "--session", name, "-p", " the", "-n", "8", "--temp", "0", "--json", "--kv-block", "4", "--kv-cold", bare)
	if err := json.Unmarshal([]byte(got.out), &without); err != nil || got.code != 0 {
		t.Fatalf("%v, %+v", err, got)
	}
	if without.CachedTokens != 0 || with.Text != without.Text || with.PromptTokens != without.PromptTokens {
		t.Fatalf("with what is remembered %+v, without %+v", with, without)
	}
}

// private makes a copied directory the owner's alone.
func private(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.Chmod(path, 0o700)
		}
		return os.Chmod(path, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
}
