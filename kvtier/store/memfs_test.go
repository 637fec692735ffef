package store

import (
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"path"
	"slices"
	"sort"
	"sync"
)

// memFS is a file system in memory that logs what is done to it, so that what
// a crash at any point may leave can be made, and that fails when told to.
type memFS struct {
	mu    sync.Mutex
	files map[string]*memFile
	dirs  map[string]bool
	log   []op
	fail  func(what, path string, n int) error // before each access; may be nil
	held  bool
}

type memFile struct{ data []byte }

// op is one change.
type op struct {
	kind     string // write, truncate, punch, sync, create, rename, remove, mkdir, syncdir, mark
	path, to string
	off, n   int64
	data     []byte
}

func newMemFS() *memFS {
	return &memFS{files: map[string]*memFile{}, dirs: map[string]bool{".": true}}
}

func (m *memFS) access(what, path string, n int) error {
	if m.fail == nil {
		return nil
	}
	return m.fail(what, path, n)
}

func (m *memFS) Lock(bool) (io.Closer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.held {
		return nil, ErrLocked
	}
	m.held = true
	return unlock{m}, nil
}

type unlock struct{ m *memFS }

func (u unlock) Close() error {
	u.m.mu.Lock()
	defer u.m.mu.Unlock()
	u.m.held = false
	return nil
}

func (m *memFS) Mkdir(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.dirs[name] {
		m.dirs[name] = true
		m.log = append(m.log, op{kind: "mkdir", path: name})
	}
	return nil
}

func (m *memFS) Open(name string, flag OpenFlag) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.access("open", name, 0); err != nil {
		return nil, err
	}
	if m.files[name] == nil {
		if flag != Create {
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
		}
		m.files[name] = &memFile{}
		m.log = append(m.log, op{kind: "create", path: name})
	}
	return &memHandle{m, m.files[name], name, flag}, nil
}

func (m *memFS) ReadDir(name string) ([]fs.DirEntry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.dirs[name] {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrNotExist}
	}
	var list []fs.DirEntry
	for p := range m.files {
		if path.Dir(p) == name {
			list = append(list, entry{path.Base(p), false})
		}
	}
	for p := range m.dirs {
		if p != "." && path.Dir(p) == name {
			list = append(list, entry{path.Base(p), true})
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Name() < list[j].Name() })
	return list, nil
}

func (m *memFS) Rename(from, to string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.access("rename", from, 0); err != nil {
		return err
	}
	m.log = append(m.log, op{kind: "rename", path: from, to: to})
	m.files[to] = m.files[from]
	delete(m.files, from)
	return nil
}

func (m *memFS) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.files[name] == nil {
		return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrNotExist}
	}
	m.log = append(m.log, op{kind: "remove", path: name})
	delete(m.files, name)
	return nil
}

func (m *memFS) SyncDir(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.log = append(m.log, op{kind: "syncdir", path: name})
	return nil
}

type entry struct {
	name string
	dir  bool
}

func (e entry) Name() string { return e.name }
func (e entry) IsDir() bool  { return e.dir }
func (e entry) Type() fs.FileMode {
	if e.dir {
		return fs.ModeDir
	}
	return 0
}
func (e entry) Info() (fs.FileInfo, error) { return nil, errors.ErrUnsupported }

type memHandle struct {
	m    *memFS
	f    *memFile
	name string
	flag OpenFlag
}

func (h *memHandle) ReadAt(b []byte, off int64) (int, error) {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	if err := h.m.access("read", h.name, len(b)); err != nil {
		return 0, err
	}
	if off >= int64(len(h.f.data)) {
		return 0, io.EOF
	}
	n := copy(b, h.f.data[off:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (h *memHandle) WriteAt(b []byte, off int64) (int, error) {
	if h.flag == ReadOnly {
		return 0, fs.ErrPermission
	}
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	if err := h.m.access("write", h.name, len(b)); err != nil {
		return 0, err
	}
	o := op{kind: "write", path: h.name, off: off, data: slices.Clone(b)}
	h.m.log = append(h.m.log, o)
	o.apply(h.f, nil)
	return len(b), nil
}

func (h *memHandle) change(o op) error {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	if err := h.m.access(o.kind, h.name, int(o.n)); err != nil {
		return err
	}
	o.path = h.name
	h.m.log = append(h.m.log, o)
	o.apply(h.f, nil)
	return nil
}

func (h *memHandle) Sync() error               { return h.change(op{kind: "sync"}) }
func (h *memHandle) Truncate(size int64) error { return h.change(op{kind: "truncate", n: size}) }
func (h *memHandle) Punch(off, n int64) error  { return h.change(op{kind: "punch", off: off, n: n}) }
func (h *memHandle) Close() error              { return nil }
func (h *memHandle) Allocated() (int64, error) { return h.Size() }
func (h *memHandle) Size() (int64, error) {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	return int64(len(h.f.data)), nil
}

// apply does a change to a file; of a write, only the sectors that keep says,
// if it is not nil.
func (o op) apply(f *memFile, keep func() bool) {
	grow := func(n int64) {
		if n > int64(len(f.data)) {
			f.data = append(f.data, make([]byte, n-int64(len(f.data)))...)
		}
	}
	switch o.kind {
	case "write":
		grow(o.off + int64(len(o.data)))
		for at := 0; at < len(o.data); at += sector {
			if keep == nil || keep() {
				copy(f.data[o.off+int64(at):], o.data[at:min(at+sector, len(o.data))])
			}
		}
	case "truncate":
		grow(o.n)
		f.data = f.data[:o.n]
	case "punch":
		for i := o.off; i < min(o.off+o.n, int64(len(f.data))); i++ {
			f.data[i] = 0
		}
	}
}

// crash makes what may be on disk if the machine stops after n changes: all
// that was synced, and of the rest any part, torn at sectors. Names change in
// their order.
func crash(log []op, n int, r *rand.Rand) *memFS {
	m := newMemFS()
	type file struct {
		durable memFile
		pending []op
	}
	files := map[string]*file{}
	var names []op // not yet durable
	name := func(o op) {
		switch o.kind {
		case "create":
			m.files[o.path] = &memFile{}
		case "rename":
			m.files[o.to] = m.files[o.path]
			delete(m.files, o.path)
		case "remove":
			delete(m.files, o.path)
		case "mkdir":
			m.dirs[o.path] = true
		}
	}
	// Contents are followed under the names that files have in the end.
	for _, o := range log[:n] {
		switch o.kind {
		case "create":
			files[o.path] = &file{}
			names = append(names, o)
		case "rename":
			files[o.to] = files[o.path]
			delete(files, o.path)
			names = append(names, o)
		case "remove":
			delete(files, o.path)
			names = append(names, o)
		case "mkdir":
			names = append(names, o)
		case "syncdir":
			for _, o := range names { // a journal is one
				name(o)
			}
			names = nil
		case "sync":
			f := files[o.path]
			for _, p := range f.pending {
				p.apply(&f.durable, nil)
			}
			f.pending = nil
		case "mark":
		default:
			files[o.path].pending = append(files[o.path].pending, o)
		}
	}
	before := map[string]string{} // what a file was called, if the renaming is lost
	keep := r.IntN(len(names) + 1)
	for _, o := range names[:keep] {
		name(o)
	}
	for _, o := range names[keep:] {
		if o.kind == "rename" {
			before[o.to] = o.path
		}
	}
	for p, f := range files {
		mode := r.IntN(3)
		for _, o := range f.pending {
			switch {
			case mode == 0: // nothing of it
			case mode == 1 && r.IntN(2) == 0: // some
				o.apply(&f.durable, nil)
			case mode == 2: // torn
				o.apply(&f.durable, func() bool { return r.IntN(3) > 0 })
			}
		}
		for _, at := range []string{p, before[p]} {
			if at != "" && m.files[at] != nil {
				m.files[at] = &memFile{slices.Clone(f.durable.data)}
			}
		}
	}
	for p := range m.files { // of a lost removal, or replaced by a lost renaming
		if files[p] == nil && !slices.ContainsFunc(names[keep:], func(o op) bool { return o.path == p }) {
			delete(m.files, p)
		}
	}
	return m
}

// clone is an independent copy.
func (m *memFS) clone() *memFS {
	c := newMemFS()
	for p, f := range m.files {
		c.files[p] = &memFile{slices.Clone(f.data)}
	}
	for d := range m.dirs {
		c.dirs[d] = true
	}
	return c
}
