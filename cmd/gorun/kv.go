package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"gorun/internal/units"
	"gorun/kvtier/store"
)

// kvCommand works on the directory of texts that are remembered.
type kvCommand struct {
	Ls    kvLsCommand    `cmd:"" help:"Show what is remembered, of which models, and the space that it takes."`
	Check kvCheckCommand `cmd:"" help:"Read everything and hold it to its checksums. Exit code 1: something is damaged."`
	Show  kvShowCommand  `cmd:"" help:"Show one session."`
	Prune kvPruneCommand `cmd:"" help:"Forget what is old, damaged, or too much."`
}

func (kvCommand) Help() string {
	return `gorun run --session NAME remembers a conversation in a directory, and --kv-cold DIR lets any command use one. These commands work on
such a directory while nothing else does.

Examples:
  gorun kv ls
  gorun kv check --dir /fast/kv
  gorun kv prune --most 8GiB --damaged`
}

// kvDir is the directory.
type kvDir struct {
	Dir  string `placeholder:"DIR" help:"The directory. Default: that of gorun run --session."`
	JSON bool   `name:"json" help:"Print JSON."`
}

func (d *kvDir) open(look bool) (*store.Store, error) {
	if d.Dir == "" {
		dir, err := defaultKVDir()
		if err != nil {
			return nil, err
		}
		d.Dir = dir
	}
	if _, err := os.Lstat(filepath.Join(d.Dir, "key")); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: nothing is remembered there", d.Dir) // and nothing is made
	}
	s, err := store.Open(store.Options{FS: store.Dir(d.Dir), Look: look, Log: slog.Default()})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: nothing is remembered there", d.Dir)
	}
	return s, err
}

type kvLsCommand struct{ kvDir }

// kvListing is the JSON of kv ls.
type kvListing struct {
	Dir      string          `json:"dir"`
	Bytes    int64           `json:"bytes"`
	Sets     []store.Summary `json:"sets"`
	Sessions []kvSession     `json:"sessions"`
}

// kvSession is a session without what was said.
type kvSession struct {
	Name   string    `json:"name"`
	Model  string    `json:"model"`
	Saved  time.Time `json:"saved"`
	Tokens int       `json:"tokens"` // 0: a chat, which is kept as messages
}

func (c *kvLsCommand) Run(s *streams) (err error) {
	st, err := c.open(true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	l := kvListing{Dir: c.Dir, Bytes: st.Used(), Sessions: []kvSession{}}
	if l.Sets, err = st.Sets(); err != nil {
		return err
	}
	sessions, err := st.Names()
	if err != nil {
		return err
	}
	for _, x := range sessions {
		l.Sessions = append(l.Sessions, kvSession{x.Name, x.Model, x.Saved, len(x.Tokens)})
	}
	if c.JSON {
		return writeJSON(s.out, l)
	}
	t := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "directory\t%s\t%v\n", l.Dir, units.Size(l.Bytes))
	if len(l.Sets) > 0 {
		fmt.Fprintf(t, "\nMODEL\tKV\tTOKENS\tBLOCKS\tSNAPSHOTS\tON DISK\tUSER\n")
	}
	for _, set := range l.Sets {
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%v\t%.8s\n", set.Layout.Model, set.Layout.KV, set.Tokens, set.Blocks, set.Snapshots, units.Size(set.Allocated), set.Namespace)
	}
	if len(l.Sessions) > 0 {
		fmt.Fprintf(t, "\nSESSION\tMODEL\tSAVED\tTOKENS\n")
	}
	for _, x := range l.Sessions {
		tokens := fmt.Sprint(x.Tokens)
		if x.Tokens == 0 {
			tokens = "chat"
		}
		fmt.Fprintf(t, "%q\t%s\t%s\t%s\n", x.Name, x.Model, x.Saved.Format(time.DateTime), tokens)
	}
	return t.Flush()
}

type kvCheckCommand struct{ kvDir }

func (c *kvCheckCommand) Run(s *streams) (err error) {
	st, err := c.open(true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	bar := s.progress("checking", true)
	r, err := st.Check(bar.set)
	bar.clear()
	if err != nil {
		return err
	}
	if c.JSON {
		err = writeJSON(s.out, r)
	} else {
		for _, text := range r.Lost {
			fmt.Fprintf(s.out, "lost: %s\n", text)
		}
		for _, text := range r.Damaged {
			fmt.Fprintf(s.out, "damaged: %s\n", text)
		}
		fmt.Fprintf(s.out, "%d blocks, %d snapshots and %d sessions, %v read: %d lost, %d damaged\n",
			r.Blocks, r.Snapshots, r.Sessions, units.Size(r.Bytes), len(r.Lost), len(r.Damaged))
	}
	if err == nil && len(r.Damaged) > 0 {
		err = fmt.Errorf("%s: %d records are damaged: gorun kv prune --damaged removes them", c.Dir, len(r.Damaged))
	}
	return err
}

type kvShowCommand struct {
	Name string `arg:"" help:"The name of the session."`
	kvDir
}

func (c *kvShowCommand) Run(s *streams) (err error) {
	st, err := c.open(true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	session, err := st.LoadSession("", c.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: no session %q: gorun kv ls shows their names", c.Dir, c.Name)
	}
	if err != nil {
		return err
	}
	if c.JSON {
		return writeJSON(s.out, session)
	}
	text, err := readSessionText(session)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "session %q, model %s, saved %s\n\n", session.Name, session.Model, session.Saved.Format(time.DateTime))
	for _, m := range text.Messages {
		fmt.Fprintf(s.out, "%s: %s\n\n", m.Role, m.Content)
	}
	if !text.Chat {
		fmt.Fprintln(s.out, text.Text)
	}
	return nil
}

// kvPruneCommand says what to forget. No variable of the environment does:
// GORUN_SESSION is for gorun run.
type kvPruneCommand struct {
	Most    *units.Size   `env:"-" placeholder:"SIZE" help:"Keep at most so much: what was used longest ago goes first."`
	Older   time.Duration `env:"-" name:"older-than" placeholder:"TIME" help:"Forget the names of sessions that were saved longer ago, as in 720h."`
	Session []string      `env:"-" placeholder:"NAME" help:"Forget the name of a session. May be repeated."`
	Damaged bool          `env:"-" help:"Forget what cannot be read."`
	All     bool          `env:"-" help:"Forget everything."`
	kvDir
}

func (c *kvPruneCommand) Run(s *streams) (err error) {
	if c.Most == nil && c.Older == 0 && len(c.Session) == 0 && !c.Damaged && !c.All {
		return usagef("say what to forget: --most SIZE, --older-than TIME, --session NAME, --damaged or --all")
	}
	st, err := c.open(false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	for _, name := range c.Session {
		if err := st.DeleteSession("", name); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s: no session %q: gorun kv ls shows their names", c.Dir, name)
		} else if err != nil {
			return err
		}
	}
	p := store.Pruning{Most: -1, Damaged: c.Damaged}
	if c.Most != nil {
		p.Most = int64(*c.Most)
	}
	if c.Older > 0 {
		p.Before = time.Now().Add(-c.Older)
	}
	if c.All {
		p.Most, p.Before = 0, time.Now().Add(time.Hour)
	}
	freed, err := st.Prune(p)
	if err != nil {
		return err
	}
	if c.JSON {
		return writeJSON(s.out, map[string]int64{"freed_bytes": freed, "bytes": st.Used()})
	}
	_, err = fmt.Fprintf(s.out, "%v freed, %v left\n", units.Size(freed), units.Size(st.Used()))
	return err
}
