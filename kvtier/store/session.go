package store

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"
)

// Session is a conversation that has a name.
type Session struct {
	Name   string          `json:"name"`
	Model  string          `json:"model"` // for people
	Saved  time.Time       `json:"saved"`
	Tokens []int32         `json:"tokens"`
	Text   json.RawMessage `json:"text"` // of whoever saved it: messages, say
}

// mostName is the most bytes of a name.
const mostName = 256

// sessionFile is the file of a name. Names are hashed: they may hold anything.
func (s *Store) sessionFile(user, name string) (dir, file string, err error) {
	if name == "" || len(name) > mostName {
		return "", "", fmt.Errorf("a session's name has %d bytes: want 1 to %d", len(name), mostName)
	}
	dir = s.namespace(user) + "/sessions"
	hash := sha256.Sum256([]byte(name))
	return dir, dir + "/" + hex.EncodeToString(hash[:16]), nil
}

// SaveSession keeps a conversation under its name, in place of what was there.
func (s *Store) SaveSession(user string, session Session) error {
	dir, file, err := s.sessionFile(user, session.Name)
	if err != nil {
		return err
	}
	content, err := json.Marshal(session)
	if err != nil {
		return err
	}
	if len(content) > mostFile-4 {
		return fmt.Errorf("session %q: %d bytes are too many", session.Name, len(content))
	}
	for _, d := range []string{s.namespace(user), dir} {
		if err := s.fs.Mkdir(d); err != nil {
			return err
		}
	}
	before := s.fileBytes(file)
	if err := writeFile(s.fs, file, content); err != nil {
		return fmt.Errorf("session %q: %w", session.Name, err)
	}
	s.mu.Lock()
	s.bytes += s.fileBytes(file) - before
	s.mu.Unlock()
	return nil
}

// LoadSession finds a conversation by its name; fs.ErrNotExist if there is
// none.
func (s *Store) LoadSession(user, name string) (Session, error) {
	_, file, err := s.sessionFile(user, name)
	if err != nil {
		return Session{}, err
	}
	session, err := s.readSession(file)
	if err == nil && session.Name != name {
		err = ErrDamaged
	}
	if err != nil {
		return Session{}, fmt.Errorf("session %q: %w", name, err)
	}
	return session, nil
}

func (s *Store) readSession(file string) (session Session, err error) {
	content, err := readFile(s.fs, file)
	if err != nil {
		return session, err
	}
	if json.Unmarshal(content, &session) != nil {
		return Session{}, fmt.Errorf("%s: %w: it is no session", file, ErrDamaged)
	}
	return session, nil
}

// DeleteSession forgets a conversation's name. Its blocks leave as all do.
func (s *Store) DeleteSession(user, name string) error {
	_, file, err := s.sessionFile(user, name)
	if err != nil {
		return err
	}
	return s.removeFile(file)
}

func (s *Store) removeFile(file string) error {
	n := s.fileBytes(file)
	if err := s.fs.Remove(file); err != nil {
		return err
	}
	s.mu.Lock()
	s.bytes -= n
	s.mu.Unlock()
	return nil
}

// fileBytes is what a small file takes on disk; 0 if it is not there.
func (s *Store) fileBytes(file string) int64 {
	f, err := s.fs.Open(file, ReadOnly)
	if err != nil {
		return 0
	}
	defer f.Close()
	n, err := f.Size()
	if err != nil {
		return 0
	}
	return whole(n)
}

// sessionFiles lists the sessions of a namespace.
func (s *Store) sessionFiles(ns string) ([]string, error) {
	entries, err := s.fs.ReadDir(ns + "/sessions")
	if err != nil {
		return nil, ignoreMissing(err)
	}
	var files []string
	for _, e := range entries {
		if e.Type().IsRegular() && !strings.HasSuffix(e.Name(), ".tmp") {
			files = append(files, ns+"/sessions/"+e.Name())
		}
	}
	return files, nil
}

// measureSessions counts the sessions, and removes what a crash left of one.
func (s *Store) measureSessions(namespaces []string) error {
	for _, ns := range namespaces {
		entries, err := s.fs.ReadDir(ns + "/sessions")
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, e := range entries {
			file := ns + "/sessions/" + e.Name()
			if strings.HasSuffix(e.Name(), ".tmp") && !s.o.Look {
				if err := s.fs.Remove(file); err != nil {
					return err
				}
				continue
			}
			s.bytes += s.fileBytes(file)
		}
	}
	return nil
}
