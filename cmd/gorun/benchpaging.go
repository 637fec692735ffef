package main

import (
	"context"
	"errors"
	"os"
	"time"

	"gorun/model"
	"gorun/pager"
)

// pagingMeter measures what paging reads, and in between how fast the disk
// reads the same file plainly, so that the one is a share of the other under
// the same conditions. Without paging it does nothing.
type pagingMeter struct {
	before, sum pager.Stats
	took        time.Duration
	plain       []float64 // bytes per second
	shares      []float64 // of the plain reads before and after
	at          int64     // where the next plain reads begin
}

// begin begins to count, and the first time to read plainly.
func (p *pagingMeter) begin(ctx context.Context, m *model.Model) (err error) {
	if m.Plan().Paging() == nil {
		return nil
	}
	if len(p.plain) == 0 {
		err = p.readPlainly(ctx, m)
	}
	p.before, _ = m.PagingStats()
	return err
}

// end counts what happened since begin, which took so long, and reads plainly.
func (p *pagingMeter) end(ctx context.Context, m *model.Model, took time.Duration) error {
	now, ok := m.PagingStats()
	if !ok {
		return nil
	}
	s := now.Sub(p.before)
	p.sum = p.sum.Add(s)
	p.took += took
	if err := p.readPlainly(ctx, m); err != nil || len(p.plain) < 2 {
		return err
	}
	around := p.plain[len(p.plain)-2:]
	p.shares = append(p.shares, float64(s.BytesRead)/took.Seconds()/((around[0]+around[1])/2))
	return nil
}

// plainBytes is what is read plainly at a time.
const plainBytes = 512 << 20

// readPlainly reads a part of the model's first file in order, as many blocks
// at a time as paging does. Where that would measure the page cache it does
// nothing.
func (p *pagingMeter) readPlainly(ctx context.Context, m *model.Model) (err error) {
	part := m.File().Parts()[0]
	if _, ok := part.ReaderAt.(*os.File); !ok || part.Size < diskBlock {
		return nil
	}
	f, direct, err := openUncached(part.Path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if !direct {
		return nil
	}
	blocks := part.Size / diskBlock
	order := make([]int, min(blocks, plainBytes/diskBlock))
	for i := range order {
		order[i] = int((p.at + int64(i)) % blocks)
	}
	p.at += int64(len(order))
	speed, err := readBlocks(ctx, f, order, pager.Depth)
	p.plain = append(p.plain, speed)
	return err
}

// report is nil without paging.
func (p *pagingMeter) report(m *model.Model) *pagingReport {
	if m.Plan().Paging() == nil {
		return nil
	}
	r := &pagingReport{PagingReport: m.Plan().PagingReport(p.sum, p.took)}
	if len(p.shares) > 0 {
		share := spreadOf(p.shares)
		r.DiskSpeed, r.OfDisk = spreadOf(p.plain).Median, &share
	}
	return r
}
