package course

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Watch is `course exercise N --watch`: Try, and again whenever the learner saves
// a file, until ctx ends. A run that is still going when a file is saved is
// stopped: its result would be about code that is no longer there.
func (r *Repo) Watch(ctx context.Context, e Exercise, verbose bool, w io.Writer) error {
	created, err := r.Setup(e)
	if err != nil {
		return err
	}
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watching %s: %w", e.Mine(), err)
	}
	defer watcher.Close()
	// The directory, not the file: many editors save by renaming a new file to the
	// old name, and a watch on the old file would see nothing more.
	if err := watcher.Add(r.Abs(path.Dir(e.Mine()))); err != nil {
		return fmt.Errorf("watching %s: %w", path.Dir(e.Mine()), err)
	}
	var tried []byte // by the runs up to the one that goes on; only changed uses it
	changed := func() bool {
		if !r.has(e.Mine()) {
			return false // between the two steps of a save
		}
		s, err := r.learner(e)
		if err == nil && bytes.Equal(s.content, tried) {
			return false
		}
		tried = s.content
		return true
	}
	changed() // the first run is about what is there
	try := func(ctx context.Context) {
		_, err := r.try(ctx, e, tryOptions{created: created, watching: true, verbose: verbose}, w)
		created = false
		if ctx.Err() != nil {
			return // a newer version is tried, or nobody waits any more
		}
		if err != nil {
			fmt.Fprintf(w, "%v\n", err)
		}
		fmt.Fprintf(w, "\nWaiting for you to save a file in %s. Ctrl-C ends it.\n", path.Dir(e.Mine()))
	}
	again := func() { fmt.Fprintf(w, "\n%s\n\n", strings.Repeat("-", 80)) }
	return runOnSave(ctx, saves(ctx, watcher), changed, try, again)
}

// saves says that a Go file may have changed. It is closed if the watcher fails.
// The one goroutine sends; it has room for one message, because two say no more
// than one.
func saves(ctx context.Context, watcher *fsnotify.Watcher) <-chan struct{} {
	saved := make(chan struct{}, 1)
	go func() {
		defer close(saved)
		for {
			select {
			case <-ctx.Done():
				return
			case event, ok := <-watcher.Events:
				if !ok {
					return
				}
				if !strings.HasSuffix(event.Name, ".go") {
					continue
				}
			case err, ok := <-watcher.Errors:
				// After an overflow nobody knows what changed: look.
				if !ok || !errors.Is(err, fsnotify.ErrEventOverflow) {
					return
				}
			}
			select {
			case saved <- struct{}{}:
			default:
			}
		}
	}()
	return saved
}

// settled is how long a file must be left alone before it is tried: one save may
// be several writes.
const settled = 100 * time.Millisecond

// runOnSave calls run, and stops it and calls it again after again() when
// something was saved and has changed. It returns when ctx ends, and waits for
// run.
func runOnSave(ctx context.Context, saved <-chan struct{}, changed func() bool, run func(context.Context), again func()) error {
	for {
		runCtx, stop := context.WithCancel(ctx)
		done := make(chan struct{}) // closed by the goroutine
		go func() {
			defer close(done)
			run(runCtx)
		}()
		err := waitForChange(ctx, saved, changed)
		stop()
		<-done
		if err != nil || ctx.Err() != nil {
			return err
		}
		again()
	}
}

// waitForChange returns when something has changed and nothing was saved for a
// moment, or when ctx ends.
func waitForChange(ctx context.Context, saved <-chan struct{}, changed func() bool) error {
	quiet := time.NewTimer(settled)
	quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case _, ok := <-saved:
			if !ok && ctx.Err() == nil {
				return errors.New("the system no longer reports when a file is saved: run it without WATCH=1")
			}
			quiet.Reset(settled)
		case <-quiet.C:
			if changed() {
				return nil
			}
		}
	}
}
