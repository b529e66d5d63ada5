package course

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Setup copies the stub to the learner's file unless there is one already. It
// never overwrites: the file is created with O_EXCL, so that even two runs at
// once cannot lose a learner's work.
func (r *Repo) Setup(e Exercise) (created bool, err error) {
	stub, err := r.read(e.Stub())
	if err != nil {
		return false, fmt.Errorf("setting up exercise %s: %w", e.ID, err)
	}
	mine := r.Abs(e.Mine())
	if err := os.MkdirAll(filepath.Dir(mine), 0o755); err != nil {
		return false, fmt.Errorf("setting up exercise %s: %w", e.ID, err)
	}
	f, err := os.OpenFile(mine, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("setting up exercise %s: %w", e.ID, err)
	}
	_, err = f.Write(stub)
	if err := errors.Join(err, f.Close()); err != nil {
		return false, fmt.Errorf("setting up exercise %s: %w", e.ID, err)
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
	if r.has(e.Mine()) {
		if same, err := r.sameText(e.Mine(), e.Stub()); err != nil || same {
			return "", err
		}
		kept = e.Mine()
		for n := 1; r.exists(kept); n++ {
			kept = fmt.Sprintf("%s.%d", e.Mine(), n)
		}
		if err := os.Rename(r.Abs(e.Mine()), r.Abs(kept)); err != nil {
			return "", fmt.Errorf("keeping your %s: %w", e.Mine(), err)
		}
	}
	_, err = r.Setup(e)
	return kept, err
}

func (r *Repo) exists(rel string) bool {
	_, err := os.Lstat(r.Abs(rel))
	return err == nil
}

// Mine is the overlay of all the learner's files for exercises up to a
// chapter. A file that is still the stub is left out, because the demo would
// fail on purpose; its exercise is returned in untouched.
func (r *Repo) Mine(chapter int) (overlay Overlay, untouched []Exercise, err error) {
	exercises, problems, err := r.Exercises()
	if err == nil {
		err = problems.Err()
	}
	if err != nil {
		return nil, nil, err
	}
	overlay = Overlay{}
	for _, e := range exercises {
		if e.Chapter > chapter || !r.has(e.Mine()) {
			continue
		}
		same, err := r.sameText(e.Mine(), e.Stub())
		if err != nil {
			return nil, nil, err
		}
		if same {
			untouched = append(untouched, e)
			continue
		}
		overlay[e.Replaces] = e.Mine()
	}
	return overlay, untouched, nil
}

func (r *Repo) sameText(a, b string) (bool, error) {
	textA, errA := r.read(a)
	textB, errB := r.read(b)
	if err := errors.Join(errA, errB); err != nil {
		return false, fmt.Errorf("comparing %s with %s: %w", a, b, err)
	}
	return bytes.Equal(textA, textB), nil
}
