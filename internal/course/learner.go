package course

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Setup writes the stub to the learner's file unless there is one already. It
// never overwrites: the file is created with O_EXCL, so that even two runs at
// once cannot lose a learner's work.
func (r *Repo) Setup(e Exercise) (created bool, err error) {
	stub, err := r.stubText(e)
	if err != nil {
		return false, err
	}
	return r.create(e, stub)
}

// create writes the learner's file unless there is one.
func (r *Repo) create(e Exercise, text []byte) (created bool, err error) {
	mine := r.Abs(e.Mine())
	if err := os.MkdirAll(filepath.Dir(mine), 0o755); err != nil {
		return false, fmt.Errorf("setting up exercise %s: %w", e.ID(), err)
	}
	f, err := os.OpenFile(mine, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("setting up exercise %s: %w", e.ID(), err)
	}
	_, err = f.Write(text)
	if err := errors.Join(err, f.Close()); err != nil {
		return false, fmt.Errorf("setting up exercise %s: %w", e.ID(), err)
	}
	return true, nil
}

// Reset puts the stub back, and counts the hints from the first again. The
// learner's file is renamed, not removed, and the new name is returned: empty if
// there was no file, or only the stub.
func (r *Repo) Reset(e Exercise) (kept string, err error) {
	if err := r.rememberHints(e, 0); err != nil {
		return "", err
	}
	if kept, err = r.keep(e); err != nil {
		return "", err
	}
	_, err = r.Setup(e)
	return kept, err
}

// keep gives the learner's file another name, and returns it: empty if there was no file, or only
// the stub.
func (r *Repo) keep(e Exercise) (kept string, err error) {
	if !r.has(e.Mine()) {
		return "", nil
	}
	if same, err := r.untouched(e); err != nil || same {
		return "", err
	}
	return r.rename(e.Mine())
}

// rename gives the learner's file a name that no other has.
func (r *Repo) rename(mine string) (kept string, err error) {
	kept = mine
	for n := 1; r.exists(kept); n++ {
		kept = fmt.Sprintf("%s.%d", mine, n)
	}
	if err := os.Rename(r.Abs(mine), r.Abs(kept)); err != nil {
		return "", fmt.Errorf("keeping your %s: %w", mine, err)
	}
	return kept, nil
}

func (r *Repo) exists(rel string) bool {
	_, err := os.Lstat(r.Abs(rel))
	return err == nil
}
