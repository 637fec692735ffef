package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"gorun/internal/units"
	"gorun/model"
)

// diskSpeeds are the bytes per second of directories that bench --disk has
// measured, kept in the user's cache for plan.
type diskSpeeds map[string]float64

func diskSpeedsPath() (string, error) {
	dir, err := os.UserCacheDir()
	return filepath.Join(dir, "gorun", "disks.json"), err
}

// readDiskSpeeds is empty if nothing has been measured.
func readDiskSpeeds() (diskSpeeds, error) {
	path, err := diskSpeedsPath()
	if err != nil {
		return nil, err
	}
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return diskSpeeds{}, nil
	}
	if err != nil {
		return nil, err
	}
	var d diskSpeeds
	if err := json.Unmarshal(b, &d); err != nil {
		return nil, fmt.Errorf("%s: %w: delete it, and measure again", path, err)
	}
	return d, nil
}

// keepDiskSpeed remembers the speed of a directory.
func keepDiskSpeed(dir string, speed float64) error {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	d, err := readDiskSpeeds()
	if err != nil || d == nil {
		d = diskSpeeds{}
	}
	d[abs] = speed
	b, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return err
	}
	path, err := diskSpeedsPath()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	part := fmt.Sprintf("%s.%d", path, os.Getpid())
	if err := os.WriteFile(part, b, 0o644); err != nil {
		return err
	}
	return os.Rename(part, path)
}

// of is the speed of the directory that a file is in, or of the nearest one
// above it that has been measured.
func (d diskSpeeds) of(file string) (dir string, speed float64) {
	abs, err := filepath.Abs(file)
	if err != nil {
		return "", 0
	}
	for at, v := range d {
		if len(at) >= len(dir) && (at == "/" || strings.HasPrefix(abs, at+string(filepath.Separator))) {
			dir, speed = at, v
		}
	}
	return dir, speed
}

// pagingPlan is what plan says about weights that are paged.
type pagingPlan struct {
	Resident   float64 `json:"resident_share"`
	DiskBytes  int64   `json:"disk_bytes_per_token"`
	DiskSpeed  float64 `json:"disk_bytes_per_second,omitempty"`
	MeasuredIn string  `json:"measured_in,omitempty"`
	TokenRate  float64 `json:"most_tokens_per_second,omitempty"`
}

// newPagingPlan predicts from the given speed of a disk, or from the one that
// was measured where the model is; nil without paging.
func newPagingPlan(p *model.Plan, file string, speed float64) (*pagingPlan, error) {
	l := p.Paging()
	if l == nil {
		return nil, nil
	}
	r := &pagingPlan{Resident: l.Resident(), DiskBytes: p.DiskBytes(), DiskSpeed: speed}
	if speed == 0 {
		d, err := readDiskSpeeds()
		if err != nil {
			return nil, err
		}
		r.MeasuredIn, r.DiskSpeed = d.of(file)
	}
	if r.DiskSpeed > 0 && r.DiskBytes > 0 {
		r.TokenRate = r.DiskSpeed / float64(r.DiskBytes)
	}
	return r, nil
}

// print writes lines of the plan's table.
func (r *pagingPlan) print(t *tabwriter.Writer) {
	fmt.Fprintf(t, "a token\t%v\tread from disk, once the pool is full\n", units.Size(r.DiskBytes))
	switch {
	case r.DiskBytes == 0:
	case r.DiskSpeed == 0:
		fmt.Fprintf(t, "speed\t?\tgorun bench --disk DIR, where the model is or will be, tells what that means in tokens/s\n")
	default:
		where := "as given"
		if r.MeasuredIn != "" {
			where = "measured in " + r.MeasuredIn
		}
		fmt.Fprintf(t, "speed\t%.3g tokens/s\tat most, of a disk that reads %v/s, %s\n", r.TokenRate, units.Size(r.DiskSpeed), where)
	}
}
