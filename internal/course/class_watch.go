package course

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// WatchClass is `course class DIR --watch`: Class, and again whenever something in the directory
// has changed, until ctx ends.
//
// Errors: a directory that cannot be read. What goes wrong later is shown, and may be over the next
// time.
func (r *Repo) WatchClass(
	ctx context.Context, dir string, o ClassOptions, w, status io.Writer,
) error {
	return watchClass(ctx, dir, w, func() (*class, error) {
		return r.judgeClass(ctx, dir, o, status)
	})
}

func watchClass(
	ctx context.Context, dir string, w io.Writer, judge func() (*class, error),
) error {
	if _, err := os.ReadDir(dir); err != nil {
		return noClass(dir, err)
	}
	look := func() string { return stamps(dir) }
	onChange(ctx, look, func() {
		c, err := judge()
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			fmt.Fprintln(w, err)
		} else {
			fmt.Fprint(w, c.report())
		}
		fmt.Fprintf(w, "\n%s. Waiting for a change in %s. Ctrl-C ends it.\n%s\n\n",
			time.Now().Format("15:04"), dir, strings.Repeat("-", reportWidth))
	})
	return nil
}

// classPeriod is how often a class's directory is looked at. It may be a network's, which tells
// nobody what other machines write, so there is nothing to wait for.
const classPeriod = 2 * time.Second

// onChange calls do at once, and again when what look returns has become another, and has stayed so
// for a period: somebody may be copying. It returns when ctx ends.
func onChange(ctx context.Context, look func() string, do func()) {
	ticker := time.NewTicker(classPeriod)
	defer ticker.Stop()
	seen := look()
	done := seen
	do()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := look()
		if now == seen && now != done {
			done = now
			do()
		}
		seen = now
	}
}

// stamps are the names, sizes and times of all files in a directory.
func stamps(dir string) string {
	var state strings.Builder
	_ = filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil { // it may have gone away
			return nil
		}
		if name := entry.Name(); entry.IsDir() && file != dir && strings.HasPrefix(name, ".") {
			return filepath.SkipDir
		}
		if info, err := entry.Info(); err == nil && !entry.IsDir() {
			fmt.Fprintln(&state, file, info.Size(), info.ModTime().UnixNano())
		}
		return nil
	})
	return state.String()
}
