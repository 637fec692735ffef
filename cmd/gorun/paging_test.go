package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// copyOfOz is the embedded model in a file of its own.
func copyOfOz(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile(oz)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "oz.gguf")
	if err := os.WriteFile(path, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestRunPaged wants the text of the resident model, a report, and a trace that
// audit can replay.
func TestRunPaged(t *testing.T) {
	path := copyOfOz(t)
	trace := filepath.Join(t.TempDir(), "trace")
	args := []string{"run", path, "-p", "Dorothy", "-n", "12", "--temp", "0", "--ctx", "64"}
	want := gorun("", append(args, "--weights", "resident")...)
	paged := append(args, "--weights", "paged", "--weights-mem", "1MiB")
	got := gorun("", append(paged, "--trace", trace)...)
	if got.code != 0 || got.out != want.out || want.out == "" {
		t.Fatalf("paged %+v\nresident %+v", got, want)
	}
	for _, line := range []string{"resident", "hit rate", "(N-C)/N", "waited for it"} {
		if !strings.Contains(got.err, line) {
			t.Errorf("the report lacks %q: %s", line, got.err)
		}
	}
	if embedded := gorun("", "run", "-p", "Dorothy", "-n", "12", "--temp", "0", "--weights", "paged", "--weights-mem", "1MiB"); embedded.out != want.out {
		t.Errorf("embedded: %+v", embedded)
	}

	audit := gorun("", "audit", trace, "--json")
	var pools []poolAudit
	if err := json.Unmarshal([]byte(audit.out), &pools); err != nil || audit.code != 0 || len(pools) != 1 {
		t.Fatalf("%v, %+v", err, audit)
	}
	misses := map[string]int{}
	for _, r := range pools[0].Replays {
		misses[r.Policy] = r.Misses
	}
	p := pools[0]
	if p.Passes != 12 || p.Uses == 0 || misses["LRU"] != p.Uses || p.Recorded.Misses >= misses["LRU"] || p.Recorded.Misses < misses["OPT"] {
		t.Errorf("%+v", p)
	}
	if text := gorun("", "audit", trace); !strings.Contains(text.out, "OPT") || !strings.Contains(text.out, "as recorded") {
		t.Errorf("%+v", text)
	}
	if bad := gorun("", "audit", path); bad.code != exitError || !strings.Contains(bad.err, "no trace") {
		t.Errorf("%+v", bad)
	}
}

func TestPagedErrors(t *testing.T) {
	got := gorun("", "run", oz, "-p", "Dorothy", "--weights", "paged", "--weights-mem", "10KiB")
	if got.code != exitError || !strings.Contains(got.err, "needs at least") {
		t.Errorf("%+v", got)
	}
	got = gorun("", "run", oz, "-p", "Dorothy", "--weights", "paged", "--trace", filepath.Join(t.TempDir(), "no", "where"))
	if got.code != exitError || !strings.Contains(got.err, "trace") {
		t.Errorf("%+v", got)
	}
}

func TestVerifyWeights(t *testing.T) {
	path := copyOfOz(t)
	args := []string{"run", path, "-p", "Dorothy", "-n", "3", "--ctx", "64", "--weights", "paged", "--verify-weights"}
	if got := gorun("", args...); got.code != exitError || !strings.Contains(got.err, "inspect --checksums") {
		t.Errorf("no checksums: %+v", got)
	}
	if got := gorun("", "inspect", path, "--checksums"); got.code != 0 || !strings.Contains(got.out, path+".sums") {
		t.Fatalf("%+v", got)
	}
	if got := gorun("", args...); got.code != 0 {
		t.Errorf("%+v", got)
	}
	if got := gorun("", "run", path, "-p", "Dorothy", "--weights", "resident", "--verify-weights"); got.code != exitError || !strings.Contains(got.err, "paged") {
		t.Errorf("resident: %+v", got)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("damage"), info.Size()-5000); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if got := gorun("", args...); got.code != exitError || !strings.Contains(got.err, "checksum") || !strings.Contains(got.err, path) {
		t.Errorf("damaged: %+v", got)
	}
}

// TestPlanPaged plans a model that does not fit, before it is there: a header
// over a hole is enough.
func TestPlanPaged(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir := t.TempDir()
	path := filepath.Join(dir, "big.gguf")
	if got := gorun("", "synth", path, "--like", "qwen3-30b-a3b", "--header-only"); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	plan := func(more ...string) (r planReport) {
		t.Helper()
		got := gorun("", append([]string{"plan", path, "--json", "--ctx", "4096", "--memory", "8GiB"}, more...)...)
		if err := json.Unmarshal([]byte(got.out), &r); err != nil || got.code != 0 || r.Paging == nil {
			t.Fatalf("%v, %+v", err, got)
		}
		return r
	}
	r := plan("--disk-speed", "2GiB")
	if !r.Fits || r.Paging.Resident <= 0.3 || r.Paging.Resident >= 0.5 || r.Paging.TokenRate != float64(2<<30)/float64(r.Paging.DiskBytes) {
		t.Errorf("%+v", *r.Paging)
	}
	if r := plan(); r.Paging.DiskSpeed != 0 || r.Paging.TokenRate != 0 {
		t.Errorf("nothing was measured: %+v", *r.Paging)
	}
	if err := keepDiskSpeed(dir, 1e9); err != nil {
		t.Fatal(err)
	}
	if err := keepDiskSpeed(filepath.Dir(dir), 2e9); err != nil {
		t.Fatal(err)
	}
	if r := plan(); r.Paging.DiskSpeed != 1e9 || r.Paging.MeasuredIn != dir {
		t.Errorf("%+v", *r.Paging)
	}
	if got := gorun("", "plan", path, "--memory", "8GiB"); !strings.Contains(got.out, "tokens/s") || !strings.Contains(got.out, dir) {
		t.Errorf("%+v", got)
	}
	if got := gorun("", "bench", path, "--weights", "paged", "-p", "0", "-n", "1", "-r", "1", "--ctx", "64", "--weights-mem", fmt.Sprint(1)); got.code != exitError {
		t.Errorf("%+v", got)
	}
}

// TestBenchPaged wants what was read in the report.
func TestBenchPaged(t *testing.T) {
	got := gorun("", "bench", oz, "-p", "0", "-n", "4", "-r", "2", "--weights", "paged", "--weights-mem", "1MiB", "--json")
	var r []benchResult
	if err := json.Unmarshal([]byte(got.out), &r); err != nil || got.code != 0 || len(r) != 1 || r[0].Paging == nil {
		t.Fatalf("%v, %+v", err, got)
	}
	if p := r[0].Paging; p.Passes != 8 || p.BytesPerPass <= 0 || p.Resident >= 1 || p.ClosedForm <= 0 {
		t.Errorf("%+v", *p)
	}
	if got := gorun("", "bench", oz, "-p", "0", "-n", "4", "-r", "2", "--weights", "paged", "--weights-mem", "1MiB"); !strings.Contains(got.out, "tg4, paged") {
		t.Errorf("%+v", got)
	}
}
