package course

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A teacher looks at the screen all day, and it must show what the class has submitted.
func TestAClassIsJudgedAgainWhenSomethingHasChangedAndIsComplete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var mu sync.Mutex // guards both
		state, judged := "a", []string{}
		look := func() string { mu.Lock(); defer mu.Unlock(); return state }
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			onChange(ctx, look, func() { now := look(); mu.Lock(); defer mu.Unlock(); judged = append(judged, now) })
		}()
		pass := func(d time.Duration) { time.Sleep(d); synctest.Wait() }
		soFar := func() []string { mu.Lock(); defer mu.Unlock(); return slices.Clone(judged) }
		pass(time.Hour + classPeriod/2) // from now on between two looks
		assert.Equal(t, []string{"a"}, soFar(), "nothing has changed")
		for _, part := range []string{"b", "bb", "bbb"} {
			mu.Lock()
			state = part
			mu.Unlock()
			pass(classPeriod)
		}
		assert.Equal(t, []string{"a"}, soFar(), "it is still being copied")
		pass(time.Hour)
		assert.Equal(t, []string{"a", "bbb"}, soFar())
		cancel()
		<-ended
	})
}

func TestAChangeOfAnyFileOfAClassIsSeen(t *testing.T) {
	t.Parallel()
	dir := aClass(t, map[string]string{
		"ada/06-queue/queue.go": "1", "ben.txtar": "1", ".git/HEAD": "1",
	})
	file := filepath.Join(dir, "ada/06-queue/queue.go")
	early := func() error { return os.Chtimes(file, time.Unix(1, 0), time.Unix(1, 0)) }
	seen := []string{stamps(dir)}
	for _, c := range []struct {
		what   string
		change func() error
	}{
		{"another time", early},
		{"another size", func() error { return errors.Join(os.Truncate(file, 2), early()) }},
		{"a new learner", func() error { return os.CopyFS(dir+"/cleo", os.DirFS(dir+"/ada")) }},
		{"another name", func() error { return os.Rename(dir+"/cleo", dir+"/dora") }},
		{"a file is gone", func() error { return os.Remove(file) }},
		{"a learner is gone", func() error { return os.RemoveAll(dir + "/dora") }},
	} {
		require.NoError(t, c.change())
		assert.NotContains(t, seen, stamps(dir), c.what)
		seen = append(seen, stamps(dir))
	}
	put(t, dir, ".git/index", "1")
	assert.Equal(t, seen[len(seen)-1], stamps(dir), "what git does is no solution")
}

// stopping ends a context when a text is written.
type stopping struct {
	strings.Builder
	text string
	stop func()
}

func (s *stopping) Write(p []byte) (int, error) {
	n, err := s.Builder.Write(p)
	if strings.Contains(s.String(), s.text) {
		s.stop()
	}
	return n, err
}

func TestWatchingAClassShowsItAndWaits(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	out := &stopping{text: "Ctrl-C ends it.", stop: cancel}
	dir := aClass(t, map[string]string{"ada/01-sum/sum.go": stub})
	require.NoError(t, r.WatchClass(ctx, dir, ClassOptions{}, out, io.Discard))
	assert.Contains(t, out.String(), "learner  solved\nada      0\n")
	err := r.WatchClass(t.Context(), dir+"/none", ClassOptions{}, out, io.Discard)
	require.ErrorContains(t, err, "looking for learners")

	// The first learner has not submitted anything yet.
	ctx, cancel = context.WithCancel(t.Context())
	out = &stopping{text: "Ctrl-C ends it.", stop: cancel}
	require.NoError(t, r.WatchClass(ctx, t.TempDir(), ClassOptions{}, out, io.Discard))
	assert.Contains(t, out.String(), "there are no learners in")
}
