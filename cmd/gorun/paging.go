package main

import (
	"fmt"
	"io"
	"log/slog"
	"text/tabwriter"

	"gorun/gguf"
	"gorun/internal/units"
	"gorun/model"
)

// pagingFlags say where weights are kept.
type pagingFlags struct {
	Weights    model.Residency `group:"Engine" enum:"auto,resident,mapped,memory,paged" default:"auto" help:"Where weights are kept: ${enum}. resident: all in memory, mapped from the file or read; paged: a part of them in memory, the rest read from the file as it is needed; auto: resident if that fits."`
	WeightsMem units.Size      `group:"Engine" placeholder:"SIZE" help:"Memory for paged weights. Default: what the plan and the system leave."`
	Verify     bool            `group:"Engine" name:"verify-weights" help:"Hold paged weights against the checksums beside the model file when they are read for the first time; inspect --checksums makes them."`
	Trace      string          `group:"Engine" placeholder:"FILE" help:"Record every page decision in a file."`
}

func (f *pagingFlags) set(o *model.Options) {
	if f.Weights != "auto" {
		o.Weights = f.Weights
	}
	o.WeightsMemory, o.VerifyWeights, o.Trace = int64(f.WeightsMem), f.Verify, f.Trace
}

// tellPaging says what a user who did not ask for paging should know.
func tellPaging(m *model.Model, o model.Options) {
	l := m.Plan().Paging()
	if l == nil {
		return
	}
	if o.Weights == model.ResidentAuto {
		slog.Info("the model is larger than the memory at hand: its weights are paged", "resident", fmt.Sprintf("%.0f %%", 100*l.Resident()), "of", units.Size(l.Bytes()))
	}
	if !m.PagingDirect() {
		slog.Warn("the file system of the model has no reads around the page cache: paging goes through it, which is slower")
	}
}

// pagingReport is how paging went beside what the disk can do: as bench measured
// it around each test, or bench --disk once.
type pagingReport struct {
	*model.PagingReport
	DiskSpeed float64 `json:"disk_bytes_per_second,omitempty"`
	OfDisk    *spread `json:"share_of_disk_bandwidth,omitempty"`
	measured  string  // the directory of bench --disk
}

// print writes the report as lines of a table.
func (r *pagingReport) print(out io.Writer) {
	size := func(v float64) string { return units.Size(v).String() }
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "resident\t%.1f %% of %v\tin %v\n", 100*r.Resident, units.Size(r.Weights), units.Size(r.Pool))
	fmt.Fprintf(t, "read\t%s a pass\t", size(r.BytesPerPass))
	if r.ExpertHitRate < 1 {
		fmt.Fprintf(t, "hit rate %.1f %%, of experts %.1f %%\n", 100*r.HitRate, 100*r.ExpertHitRate)
	} else {
		fmt.Fprintf(t, "hit rate %.1f %%; (N-C)/N of the model is %v\n", 100*r.HitRate, units.Size(r.ClosedForm))
	}
	fmt.Fprintf(t, "disk\t%s/s\t", size(r.Speed))
	switch {
	case r.OfDisk != nil:
		fmt.Fprintf(t, "%s; ", r.OfDisk.percent("plain reads around each test, "+size(r.DiskSpeed)+"/s"))
	case r.DiskSpeed > 0:
		fmt.Fprintf(t, "%.0f %% of %s/s, measured in %s; ", 100*r.Speed/r.DiskSpeed, size(r.DiskSpeed), r.measured)
	}
	fmt.Fprintf(t, "read %.0f %%, waited for it %.0f %% of the time\n", 100*r.Busy, 100*r.Stalled)
	t.Flush() // to standard error or a buffer
}

// writeChecksums writes the checksums of a model beside it.
func writeChecksums(f *gguf.File, s *streams, in *interrupts) error {
	ctx, done := in.context()
	defer done()
	bar := s.progress("reading weights", true)
	path, err := model.WriteChecksums(ctx, f, bar.set)
	bar.clear()
	if err == nil {
		_, err = fmt.Fprintln(s.out, path)
	}
	return err
}
