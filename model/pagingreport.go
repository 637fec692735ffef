package model

import (
	"time"

	"gorun/pager"
)

// PagingReport says how paging went over some passes: what run and bench print,
// and a server exports.
type PagingReport struct {
	Resident      float64 `json:"resident_share"` // of the weights
	Pool          int64   `json:"pool_bytes"`
	Weights       int64   `json:"weight_bytes"`
	Passes        int64   `json:"passes"`
	Tokens        int64   `json:"tokens"`
	BytesRead     int64   `json:"bytes_read"`
	BytesPerPass  float64 `json:"bytes_read_per_pass"`
	ClosedForm    int64   `json:"closed_form_bytes_per_pass"` // (N-C)/N of what every pass uses
	HitRate       float64 `json:"hit_rate"`
	ExpertHitRate float64 `json:"expert_hit_rate"`
	Speed         float64 `json:"bytes_per_second"` // read, over all the time
	Stalled       float64 `json:"stalled_share"`    // of the time, waiting for the disk
	Busy          float64 `json:"reading_share"`    // of the time, with reads under way
}

// PagingReport reports the passes since before, which took so long; nil if all
// weights are resident.
func (m *Model) PagingReport(before pager.Stats, took time.Duration) *PagingReport {
	now, ok := m.PagingStats()
	if !ok {
		return nil
	}
	return m.plan.PagingReport(now.Sub(before), took)
}

// PagingReport reports the passes that s counts, which took so long.
func (p *Plan) PagingReport(s pager.Stats, took time.Duration) *PagingReport {
	l := p.paging
	read, seconds := s.BytesRead+s.RowBytes, max(took.Seconds(), 1e-9)
	return &PagingReport{
		Resident: l.Resident(), Pool: l.TotalBytes(), Weights: l.Bytes(), Passes: s.Passes, Tokens: s.Tokens, BytesRead: read,
		BytesPerPass: float64(read) / float64(max(1, s.Passes)), ClosedForm: l.Streamed(),
		HitRate: s.HitRate(), ExpertHitRate: s.HitRateOf(pager.Routed),
		Speed: float64(read) / seconds, Stalled: s.Stalled.Seconds() / seconds, Busy: s.Busy.Seconds() / seconds,
	}
}
