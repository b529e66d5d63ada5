package api

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Written is a file that a command makes out of the two APIs.
type Written struct {
	File string // its name in the repository
	Text []byte
}

// Write writes the file, if it isn't like that already.
func (w Written) Write(root string) error {
	old, err := os.ReadFile(w.path(root))
	if err == nil && bytes.Equal(old, w.Text) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(w.path(root)), 0o755); err != nil {
		return err
	}
	return os.WriteFile(w.path(root), w.Text, 0o644)
}

// Check fails if Write would change something.
func (w Written) Check(root string) error {
	old, err := os.ReadFile(w.path(root))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if !bytes.Equal(old, w.Text) {
		return fmt.Errorf("%s is out of date (%s); `make api` writes it", w.File, firstChange(string(old), string(w.Text)))
	}
	return nil
}

func (w Written) path(root string) string { return filepath.Join(root, filepath.FromSlash(w.File)) }

// firstChange names the first line that differs.
func firstChange(old, now string) string {
	before, after := strings.Split(old, "\n"), strings.Split(now, "\n")
	for i := range min(len(before), len(after)) {
		if before[i] != after[i] {
			return fmt.Sprintf("line %d is %q, and should be %q", i+1, before[i], after[i])
		}
	}
	return fmt.Sprintf("it has %d lines, and should have %d", len(before), len(after))
}
