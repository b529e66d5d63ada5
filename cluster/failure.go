package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// partError is a failure of one part. It's shown with the end of the part's log, because that's
// where a part says why.
type partError struct {
	part Part
	log  string
	what error
}

func failed(part Part, at place, what error) error {
	return &partError{part: part, log: at.log(part), what: what}
}

func (e *partError) Unwrap() error { return e.what }

func (e *partError) Error() string {
	lines := strings.ReplaceAll(lastLines(e.log, 15), "\n", "\n  | ")
	return fmt.Sprintf("%s %v; the end of its log, %s:\n  | %s", e.part, e.what, filepath.Clean(e.log), lines)
}

// lastLines returns the end of a log, without stack traces, which tell a reader nothing. If the
// process died of a panic, it returns them anyway, because there's nothing else.
func lastLines(path string, count int) string {
	file, err := os.Open(path)
	if err != nil {
		return "(no log: " + err.Error() + ")"
	}
	defer func() { _ = file.Close() }()
	const tail = 256 << 10 // bytes, plenty for the goroutines of an API server
	if info, err := file.Stat(); err == nil && info.Size() > tail {
		_, _ = file.Seek(-tail, io.SeekEnd)
	}
	content, _ := io.ReadAll(file)
	lines := bytes.Split(bytes.TrimSpace(content), []byte("\n"))
	lines = lines[:len(lines)-goroutineLines(lines)]
	for len(lines) > 0 && len(bytes.TrimSpace(lines[len(lines)-1])) == 0 {
		lines = lines[:len(lines)-1]
	}
	if len(lines) > count {
		lines = lines[len(lines)-count:]
	}
	return string(stackTraces.ReplaceAll(bytes.Join(lines, []byte("\n")), nil))
}

// stackTraces are what etcd adds to its errors.
var stackTraces = regexp.MustCompile(`,"stacktrace":"(?:[^"\\]|\\.)*"`)

// goroutineLines counts the lines from the first goroutine after the last panic,
// fatal error or fatal signal to the end.
func goroutineLines(lines [][]byte) int {
	count := 0
	for i, line := range slices.Backward(lines) {
		if bytes.HasPrefix(line, []byte("goroutine ")) {
			count = len(lines) - i
		}
		for _, cause := range []string{"panic: ", "fatal error: ", "SIG"} {
			if bytes.HasPrefix(line, []byte(cause)) {
				return count
			}
		}
	}
	return 0
}

var errEnded = errors.New("ended")

// ended returns the first part of those that has ended, as an error, or nil.
func ended(exited map[Part]<-chan struct{}, at place) error {
	for _, part := range Parts {
		select {
		case <-exited[part]: // a nil channel, of a part not started, never fires
			return failed(part, at, errEnded)
		default:
		}
	}
	return nil
}

// errTooSlow is the cause of a context that ended because a part didn't get ready in time, and not
// because the user cancelled.
var errTooSlow = errors.New("not ready after " + startLimit.String())

// awaitReady calls ready until it succeeds, the context ends, or a part that it needs ends. suspect
// is the part to name in the error if all of them run but ready never succeeds.
func awaitReady(ctx context.Context, what string, suspect Part, exited map[Part]<-chan struct{}, at place, ready func(context.Context) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	var watchers sync.WaitGroup
	defer func() { stop(nil); watchers.Wait() }()
	for _, end := range exited { // a part that ended doesn't answer: don't wait for it
		watchers.Go(func() {
			select {
			case <-end:
				stop(errEnded)
			case <-ctx.Done():
			}
		})
	}
	for {
		last := ready(ctx)
		if last == nil {
			return nil
		}
		err := pause(ctx, pollInterval)
		if dead := ended(exited, at); dead != nil {
			return dead
		}
		if err != nil {
			err = fmt.Errorf("waiting for %s: %w; last: %w", what, err, last)
			if errors.Is(err, errTooSlow) && suspect != "" {
				return failed(suspect, at, err)
			}
			return err
		}
	}
}

// pause sleeps unless the context ends first.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
