package main

import (
	"context"
	"errors"
	"os"
	"time"

	"gorun/internal/pageio"
	"gorun/model"
	"gorun/pager"
)

// pagingMeter measures what paging reads, and in between how fast the disk
// reads the same file plainly, so that the one is a share of the other under
// the same conditions. Without paging it does nothing.
type pagingMeter struct {
	before, sum pager.Stats
	took        time.Duration
	plain       []float64
	at          int64 // where the next plain reads begin
}

func (p *pagingMeter) begin(m *model.Model) { p.before, _ = m.PagingStats() }

// end counts what happened since begin, which took so long, and reads plainly.
func (p *pagingMeter) end(ctx context.Context, m *model.Model, took time.Duration) error {
	now, ok := m.PagingStats()
	if !ok {
		return nil
	}
	p.sum = p.sum.Add(now.Sub(p.before))
	p.took += took
	speed, err := p.readPlainly(ctx, m)
	if err != nil {
		return err
	}
	if speed > 0 {
		p.plain = append(p.plain, speed)
	}
	return nil
}

// plainBytes is what is read plainly at a time.
const plainBytes = 512 << 20

// readPlainly reads a part of the model's first file in order, as many blocks
// at a time as paging does, and returns bytes per second.
func (p *pagingMeter) readPlainly(ctx context.Context, m *model.Model) (speed float64, err error) {
	part := m.File().Parts()[0]
	if _, ok := part.ReaderAt.(*os.File); !ok || part.Size < diskBlock {
		return 0, nil
	}
	f, direct, err := openUncached(part.Path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if !direct {
		return 0, nil // that would measure the page cache
	}
	blocks := part.Size / diskBlock
	order := make([]int, min(blocks, plainBytes/diskBlock))
	for i := range order {
		order[i] = int((p.at + int64(i)) % blocks)
	}
	p.at += int64(len(order))
	return readBlocks(ctx, f, order, pageio.Depth)
}

// report is nil without paging.
func (p *pagingMeter) report(m *model.Model) *pagingReport {
	l := m.Plan().Paging()
	if l == nil {
		return nil
	}
	disk := 0.0
	if len(p.plain) > 0 {
		disk = spreadOf(p.plain).Median
	}
	return newPagingReport(l, p.sum, p.took, disk)
}
