package course

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An editor writes a file in several steps. A run for each would show compile
// errors that are gone already.
func TestOneSaveIsOneRunHoweverManyWritesItTakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		saved := make(chan struct{})
		var runs []time.Duration
		begin := time.Now()
		changed := true
		ended := make(chan error)
		go func() {
			ended <- runOnSave(ctx, saved, func() bool { return changed }, func(context.Context) { runs = append(runs, time.Since(begin)) }, func() {})
		}()
		synctest.Wait()
		assert.Equal(t, []time.Duration{0}, runs, "the first run waits for no save")
		for range 5 {
			saved <- struct{}{}
			time.Sleep(settled / 2)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		assert.Equal(t, []time.Duration{0, 3 * settled}, runs)

		changed = false
		saved <- struct{}{}
		time.Sleep(time.Hour)
		synctest.Wait()
		assert.Len(t, runs, 2, "saving the same text again changes nothing")
		cancel()
		assert.NoError(t, <-ended)
	})
}

// A loop that never ends would otherwise block the next try for half a minute.
func TestARunThatGoesOnIsStoppedByTheNextSaveAndByCtrlC(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		saved := make(chan struct{})
		running, stopped := 0, 0
		ended := make(chan error)
		go func() {
			ended <- runOnSave(ctx, saved, func() bool { return true }, func(ctx context.Context) {
				running++
				<-ctx.Done()
				time.Sleep(time.Second) // what it started takes a while to end
				running--
				stopped++
			}, func() { assert.Zero(t, running, "two runs at a time would mix their output") })
		}()
		synctest.Wait()
		saved <- struct{}{}
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, 1, stopped)
		assert.Equal(t, 1, running)
		cancel()
		assert.NoError(t, <-ended)
		assert.Equal(t, 2, stopped, "Ctrl-C waits until nothing is left")
	})
}

func TestAWatcherThatFailsIsReported(t *testing.T) {
	saved := make(chan struct{})
	close(saved)
	err := runOnSave(t.Context(), saved, func() bool { return true }, func(context.Context) {}, func() {})
	assert.ErrorContains(t, err, "run it without WATCH=1")
}

// screen collects what a learner sees, and says when a text is there.
type screen struct {
	mu      sync.Mutex // guards the rest
	text    strings.Builder
	changed chan struct{} // room for one: the reader looks at everything
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case s.changed <- struct{}{}:
	default:
	}
	return s.text.Write(p)
}

// await returns what was written up to and including the text.
func (s *screen) await(t *testing.T, text string) {
	t.Helper()
	for {
		s.mu.Lock()
		seen := s.text.String()
		_, rest, ok := strings.Cut(seen, text)
		if ok {
			s.text.Reset()
			s.text.WriteString(rest)
		}
		s.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-s.changed:
		case <-time.After(2 * time.Minute):
			t.Fatalf("%q was not shown; what was: %s", text, seen)
		}
	}
}

func TestSavingTheFileTestsItAgain(t *testing.T) {
	t.Parallel()
	r := tinyTree(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	seen := &screen{changed: make(chan struct{}, 1)}
	ended := make(chan error)
	go func() { ended <- r.Watch(ctx, theExercise(t, r), false, seen) }()
	seen.await(t, "It's a stub") // with the task, as without a watch
	seen.await(t, "got 0.")
	seen.await(t, "Next: edit my/01-sum/sum.go and save it.")
	seen.await(t, "Waiting for you to save a file in my/01-sum. Ctrl-C ends it.")

	put(t, r.Root, "my/01-sum/sum.go", "package mini\n\nfunc Sum(xs []int) int { return 4 }\n")
	seen.await(t, "got 4.")
	seen.await(t, "Waiting for you to save")

	// As many editors do.
	put(t, r.Root, "my/01-sum/sum.go.new", "package mini\n\nfunc Sum(xs []int) int { return helper(xs) }\n")
	require.NoError(t, os.Rename(r.Abs("my/01-sum/sum.go.new"), r.Abs("my/01-sum/sum.go")))
	seen.await(t, "undefined: helper")
	seen.await(t, "Waiting for you to save")
	put(t, r.Root, "my/01-sum/helper.go", "package mini\n\nfunc helper(xs []int) (t int) {\n\tfor _, x := range xs {\n\t\tt += x\n\t}\n\treturn t\n}\n")
	seen.await(t, "Solved: all tests pass")
	cancel()
	assert.NoError(t, <-ended)
}
