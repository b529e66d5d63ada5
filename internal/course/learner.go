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
		if same, err := r.untouched(e); err != nil || same {
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
// fail on purpose; its exercise is returned in untouched. added are the keys that
// replace nothing.
func (r *Repo) Mine(chapter int) (overlay Overlay, added map[string]string, untouched []Exercise, err error) {
	exercises, problems, err := r.Exercises()
	if err == nil {
		err = problems.Err()
	}
	if err != nil {
		return nil, nil, nil, err
	}
	overlay, added = Overlay{}, map[string]string{}
	for _, e := range exercises {
		if e.Chapter > chapter || !r.has(e.Mine()) {
			continue
		}
		same, err := r.untouched(e)
		if err != nil {
			return nil, nil, nil, err
		}
		if same {
			untouched = append(untouched, e)
			continue
		}
		overlay[e.Replaces] = e.Mine()
		extra, err := r.extraFiles(myDir, e)
		if err != nil {
			return nil, nil, nil, err
		}
		for to, from := range extra {
			if other, taken := added[to]; taken {
				return nil, nil, nil, fmt.Errorf("%s and %s would both be %s: give one of them another name", other, from, to)
			}
			overlay[to], added[to] = from, from
		}
	}
	return overlay, added, untouched, nil
}
