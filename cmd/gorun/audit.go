package main

import (
	"bufio"
	"fmt"
	"os"
	"text/tabwriter"

	"gorun/internal/units"
	"gorun/policy"
)

type auditCommand struct {
	Trace string `arg:"" help:"Trace that --trace wrote."`
	JSON  bool   `name:"json" help:"Print JSON."`
}

func (auditCommand) Help() string {
	return `Replays a trace of page decisions: what other policies would have done with the same uses of pages and the same slots.
OPT knows the future and bounds all of them. "learned" keeps the pages that the first half of the trace used most; all columns of the
second half are of a policy that has seen the first.

Example:
  gorun run model.gguf -p "Once" -n 200 --weights paged --weights-mem 2GiB --trace t.trace
  gorun audit t.trace`
}

// poolAudit is the replay of a pool.
type poolAudit struct {
	policy.Pool
	Uses     int             `json:"uses"`
	Distinct int             `json:"distinct_pages"`
	Recorded outcomeReport   `json:"recorded"` // what happened
	Replays  []outcomeReport `json:"replays"`
	// Read is what was read for uses, Passes and Tokens what the model did.
	Read   int64 `json:"bytes_read"`
	Passes int   `json:"passes"`
	Tokens int64 `json:"tokens"`
}

// outcomeReport is what a policy came to, over all the trace and over its
// second half.
type outcomeReport struct {
	Policy     string `json:"policy"`
	Misses     int    `json:"misses"`
	HalfMisses int    `json:"second_half_misses"`
}

func (c *auditCommand) Run(s *streams) error {
	f, err := os.Open(c.Trace)
	if err != nil {
		return err
	}
	defer f.Close()
	r, err := policy.NewReader(bufio.NewReader(f))
	if err != nil {
		return fmt.Errorf("%s: %w", c.Trace, err)
	}
	pools, err := auditTrace(r)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Trace, err)
	}
	if c.JSON {
		return writeJSON(s.out, pools)
	}
	for _, p := range pools {
		if err := p.print(s); err != nil {
			return err
		}
	}
	return nil
}

// poolUses are the uses of pages of one pool.
type poolUses struct {
	refs []policy.Ref
	hits []bool
	read int64
}

// auditTrace replays the pools of a trace that have slots.
func auditTrace(r *policy.Reader) ([]*poolAudit, error) {
	pools := r.Header().Pools
	uses := make([]poolUses, len(pools))
	passes, tokens := 0, int64(0)
	for e, err := range r.Events() {
		if err != nil {
			return nil, err
		}
		u := &uses[e.Pool]
		switch e.Kind {
		case policy.Pass:
			passes++
			tokens += int64(e.Page)
		case policy.Hit, policy.Miss:
			u.refs = append(u.refs, policy.Ref{Page: policy.Page(e.Page), Cold: e.Cause == policy.Scan})
			u.hits = append(u.hits, e.Kind == policy.Hit)
			if e.Kind == policy.Miss {
				u.read += e.Bytes
			}
		}
	}
	var audits []*poolAudit
	for i, p := range pools {
		if p.Slots > 1 && len(uses[i].refs) > 0 {
			audits = append(audits, newPoolAudit(p, uses[i], passes, tokens))
		}
	}
	return audits, nil
}

func newPoolAudit(p policy.Pool, u poolUses, passes int, tokens int64) *poolAudit {
	half := len(u.refs) / 2
	a := &poolAudit{Pool: p, Uses: len(u.refs), Read: u.read, Passes: passes, Tokens: tokens}
	a.Distinct = len(policy.MostUsed(len(u.refs), u.refs))
	a.Recorded.Policy = p.Policy
	for i, hit := range u.hits {
		if !hit {
			a.Recorded.Misses++
			if i >= half {
				a.Recorded.HalfMisses++
			}
		}
	}
	replay := func(name string, from func(first int) policy.Outcome) {
		a.Replays = append(a.Replays, outcomeReport{name, from(0).Misses, from(half).Misses})
	}
	for _, m := range policy.Online() {
		replay(m.Name, func(first int) policy.Outcome { return policy.ReplayFrom(m.New(p.Slots), p.Slots, u.refs, first) })
	}
	replay("learned", func(first int) policy.Outcome {
		return policy.ReplayFrom(policy.BestFixed(p.Slots, u.refs[:half]), p.Slots, u.refs, first)
	})
	replay("best fixed", func(first int) policy.Outcome {
		return policy.ReplayFrom(policy.BestFixed(p.Slots, u.refs), p.Slots, u.refs, first)
	})
	replay("OPT", func(first int) policy.Outcome { return policy.OPT(p.Slots, u.refs, first) })
	return a
}

func (a *poolAudit) print(s *streams) error {
	t := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(s.out, "%s: %d slots, %v; ", a.Name, a.Slots, units.Size(int64(a.Slots)*a.SlotBytes))
	if a.Pages > 0 {
		fmt.Fprintf(s.out, "%d pages, %v; ", a.Pages, units.Size(a.Bytes))
	}
	fmt.Fprintf(s.out, "%d uses of %d pages in %d passes, %d tokens; %v read\n", a.Uses, a.Distinct, a.Passes, a.Tokens, units.Size(a.Read))
	fmt.Fprintf(t, "policy\tmisses\thit rate\tsecond half\thit rate\t\n")
	half := a.Uses - a.Uses/2
	for _, o := range append([]outcomeReport{{a.Recorded.Policy + ", as recorded", a.Recorded.Misses, a.Recorded.HalfMisses}}, a.Replays...) {
		rate := func(misses, uses int) float64 { return 100 * (1 - float64(misses)/float64(uses)) }
		fmt.Fprintf(t, "%s\t%d\t%.1f %%\t%d\t%.1f %%\t\n", o.Policy, o.Misses, rate(o.Misses, a.Uses), o.HalfMisses, rate(o.HalfMisses, half))
	}
	fmt.Fprintln(t)
	return t.Flush()
}
