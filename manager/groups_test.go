package manager

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/trace"
)

// part is a runnable that writes down when it starts and ends. Tests put it into a group directly.
type part struct {
	name       string
	story      *story
	slowToBe   time.Duration // ready, after the start
	slowToEnd  time.Duration // after it was told
	failsAfter time.Duration
	failure    error
}

// story is what happened, in order.
type story struct {
	mu    sync.Mutex // guards lines
	lines []string
}

func (s *story) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

func (s *story) told() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.lines)
}

func (p *part) String() string { return p.name }

func (p *part) Start(ctx context.Context) error {
	p.story.say("%s starts", p.name)
	var failing <-chan time.Time
	if p.failure != nil {
		failing = time.After(p.failsAfter)
	}
	select {
	case <-failing:
		return p.failure
	case <-ctx.Done():
	}
	p.story.say("%s is told", p.name)
	time.Sleep(p.slowToEnd)
	p.story.say("%s ends", p.name)
	return nil
}

func (p *part) waitUntilReady(ctx context.Context) error {
	select {
	case <-time.After(p.slowToBe):
		p.story.say("%s is ready", p.name)
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// stage is groups under test, in a bubble.
type stage struct {
	t *testing.T
	*groups
	story  story
	logged story
}

func onStage(t *testing.T, test func(t *testing.T, s *stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &stage{t: t}
		s.groups = newGroups(funcr.New(func(_, line string) {
			s.logged.say("%s", line)
		}, funcr.Options{}), time.Minute, nil)
		test(t, s)
	})
}

// put adds a part to a group.
func (s *stage) put(group groupName, p part) *part {
	s.t.Helper()
	p.story = &s.story
	if p.name == "" {
		p.name = group.String()
	}
	m := &member{runnable: &p, start: p.Start}
	if p.slowToBe > 0 {
		m.ready = p.waitUntilReady
	}
	require.NoError(s.t, s.all[group].add(m))
	return &p
}

func (s *stage) begin(leads bool) error {
	return s.start(s.t.Context(), context.Background(), leads)
}

// end stops the groups within a time.
func (s *stage) end(grace time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), grace, errors.New("too late"))
	defer cancel()
	return s.stop(ctx, errors.New("the test ends"))
}

func TestEachGroupIsReadyBeforeTheNextStarts(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		var want []string
		for group := range groupName(groupCount) {
			s.put(group, part{slowToBe: time.Second})
			want = append(want, group.String()+" starts", group.String()+" is ready")
		}
		require.NoError(t, s.begin(true))
		require.Equal(t, want, s.story.told())
		require.NoError(t, s.end(time.Second))
	})
}

func TestEachGroupHasEndedBeforeTheOneThatItNeedsIsTold(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		for group := range groupName(groupCount) {
			slow := time.Second
			if group == warmups {
				slow /= 2 // so that it does not end in the moment in which the next group is told
			}
			s.put(group, part{slowToEnd: slow})
		}
		require.NoError(t, s.begin(true))
		synctest.Wait()
		before := len(s.story.told())
		began := time.Now()
		require.NoError(t, s.end(time.Hour))
		story := s.story.told()[before:]
		require.ElementsMatch(t, []string{"leader-elected is told", "warm-up is told"}, story[:2],
			"these two may wait for each other")
		require.Equal(t, []string{"warm-up ends", "leader-elected ends"}, story[2:4])
		require.Equal(t, []string{"leader election is told", "leader election ends",
			"others is told", "others ends", "caches is told", "caches ends", "webhooks is told",
			"webhooks ends",
			"HTTP servers is told", "HTTP servers ends"}, story[4:])
		require.Equal(t, 6*time.Second, time.Since(began))
	})
}

func TestWhatIsAddedToAGroupThatRunsStartsAtOnce(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		require.NoError(t, s.begin(false))
		s.put(others, part{name: "late"})
		s.put(elected, part{name: "controller"})
		synctest.Wait()
		require.Equal(t, []string{"late starts"}, s.story.told(),
			"the controller waits for the lead")
		require.NoError(t, s.begin(true))
		synctest.Wait()
		require.Equal(t, []string{"late starts", "controller starts"}, s.story.told())
		require.NoError(t, s.end(time.Second))
	})
}

func TestNothingIsAddedOrStartedAfterTheStop(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.put(elected, part{name: "never started"})
		require.NoError(t, s.begin(false))
		slow := s.put(others, part{name: "slow", slowToEnd: time.Minute})
		stopped := make(chan error, 1)
		go func() { stopped <- s.end(time.Hour) }()
		time.Sleep(time.Second)
		err := s.add(slow)
		require.ErrorIs(t, err, ErrStopped, "while it stops")
		require.ErrorContains(t, err, "slow cannot be added")
		require.NoError(t, <-stopped)
		require.ErrorIs(t, s.add(slow), ErrStopped, "when it has stopped")
		require.NoError(t, s.begin(true), "there is nothing to start")
		require.Equal(t, []string{"slow starts", "slow is told", "slow ends"}, s.story.told())
	})
}

func TestARunnableThatFailsBeforeItIsReadyEndsTheWaiting(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		var failures []error
		s.onFailure(func(err error) { failures = append(failures, err) })
		broken := errors.New("broken")
		s.put(caches, part{slowToBe: time.Hour, failure: broken, failsAfter: time.Second})
		s.put(others, part{})
		began := time.Now()
		require.ErrorIs(t, s.begin(true), broken, "a start that goes on waiting hides why")
		require.Equal(t, time.Second, time.Since(began))
		require.Len(t, failures, 1)
		require.ErrorIs(t, failures[0], broken)
		require.Equal(t, []string{"caches starts"}, s.story.told(), "others do not start")
		require.NoError(t, s.end(time.Second))
	})
}

func TestARunnableThatEndsBeforeItIsReadyIsAnError(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		p := &part{name: "short", story: &s.story, slowToBe: time.Hour}
		require.NoError(t, s.all[caches].add(&member{runnable: p,
			start: func(context.Context) error {
				return nil
			}, ready: p.waitUntilReady}))
		err := s.begin(true)
		require.ErrorIs(t, err, errEndedUnready)
		require.ErrorContains(t, err, "short is not ready")
		require.NoError(t, s.end(time.Second))
	})
}

func TestAStopDoesNotWaitForWhatIsNotReadyYet(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.put(caches, part{slowToBe: time.Hour, slowToEnd: time.Second})
		s.put(others, part{})
		ctx, stop := context.WithCancelCause(t.Context())
		started := make(chan error, 1)
		go func() { started <- s.start(ctx, context.Background(), true) }()
		time.Sleep(time.Second)
		enough := errors.New("enough")
		stop(enough)
		require.ErrorIs(t, <-started, enough)
		require.NoError(t, s.end(time.Minute))
		require.Equal(t, []string{"caches starts", "caches is told", "caches ends"}, s.story.told())
	})
}

func TestWhenTheGracePeriodIsOverAllAreToldAndTheSlowOnesNamed(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.put(others, part{name: "stubborn", slowToEnd: time.Hour})
		s.put(caches, part{name: "cache", slowToEnd: time.Hour})
		s.put(httpServers, part{name: "probes"})
		require.NoError(t, s.begin(true))
		began := time.Now()
		err := s.end(10 * time.Second)
		require.EqualError(t, err,
			"still running: stubborn (others), cache (caches), probes (HTTP servers)")
		require.Equal(t, 10*time.Second, time.Since(began))
		synctest.Wait()
		require.Contains(t, s.story.told(), "cache is told",
			"what nobody waits for must still hear that it is over")
		require.Contains(t, s.story.told(), "probes ends")
		time.Sleep(2 * time.Hour) // or the bubble has goroutines left
	})
}

func TestAStopWithoutGraceTellsAllAtOnce(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		for group := range groupName(groupCount) {
			s.put(group, part{slowToEnd: time.Hour})
		}
		require.NoError(t, s.begin(true))
		began := time.Now()
		require.ErrorContains(t, s.end(0), "still running")
		require.Zero(t, time.Since(began))
		synctest.Wait()
		require.Equal(t, groupCount, strings.Count(strings.Join(s.story.told(), " "), "is told"))
		time.Sleep(2 * time.Hour)
	})
}

func TestARunnableIsToldWhyItMustEnd(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		var cause error
		require.NoError(t, s.add(RunnableFunc(func(ctx context.Context) error {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return nil
		})))
		require.NoError(t, s.begin(true))
		require.NoError(t, s.end(time.Second))
		require.EqualError(t, cause, "the test ends")
	})
}

func TestWhatNeedsALostLeaseIsStoppedBeforeTheRest(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.put(elected, part{name: "controller", slowToEnd: time.Second})
		s.put(others, part{})
		require.NoError(t, s.begin(true))
		began := time.Now()
		s.stopElected(errors.New("the lease is lost"))
		require.Equal(t, time.Second, time.Since(began))
		require.Contains(t, s.story.told(), "controller ends")
		require.NotContains(t, s.story.told(), "others is told")
		require.ErrorIs(t, s.add(RunnableFunc(nil)), ErrStopped)
		require.NoError(t, s.end(time.Second))
		require.Contains(t, s.story.told(), "others ends")
	})
}

type key struct{}

func TestRunnablesHaveTheValuesOfTheBaseContext(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		var got any
		require.NoError(t, s.add(RunnableFunc(func(ctx context.Context) error {
			got = ctx.Value(key{})
			return nil
		})))
		require.NoError(t, s.start(t.Context(),
			context.WithValue(context.Background(), key{}, "value"), true))
		synctest.Wait()
		require.Equal(t, "value", got)
		require.NoError(t, s.end(time.Second))
	})
}

// What is told to end often says so. Only other errors are news.
func TestAFailureDuringTheStopIsLogged(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		fails := func(with error) Runnable {
			return RunnableFunc(func(ctx context.Context) error { <-ctx.Done(); return with })
		}
		require.NoError(t, s.add(fails(errors.New("the disk is full"))))
		require.NoError(t, s.add(fails(fmt.Errorf("ended: %w", context.Canceled))))
		require.NoError(t, s.begin(true))
		require.NoError(t, s.end(time.Second))
		require.Len(t, s.logged.told(), 1)
		require.Contains(t, s.logged.told()[0], "the disk is full")
	})
}

func TestRunnablesEndInAnyOrderWhileOthersAreAddedAndTheStopComes(t *testing.T) {
	for seed := range 200 {
		synctest.Test(t, func(t *testing.T) {
			s := &stage{t: t}
			s.groups = newGroups(logr.Discard(), time.Minute, nil)
			for number := range 20 {
				go func() {
					time.Sleep(time.Duration((number*7+seed)%13) * time.Millisecond)
					p := &part{story: &s.story, name: fmt.Sprint("part ", number),
						slowToEnd: time.Duration(number%5) * time.Millisecond}
					err := s.all[groupName((number+seed)%groupCount)].add(&member{runnable: p,
						start: p.Start})
					require.True(t, err == nil || errors.Is(err, ErrStopped))
				}()
			}
			ctx, stop := context.WithCancel(t.Context())
			go func() { _ = s.start(ctx, context.Background(), seed%2 == 0) }()
			time.Sleep(time.Duration(seed%17) * time.Millisecond)
			stop()
			require.NoError(t, s.end(time.Hour))
			time.Sleep(time.Second) // for those who add too late
			starts, ends := 0, 0
			for _, line := range s.story.told() {
				switch {
				case strings.HasSuffix(line, "starts"):
					starts++
				case strings.HasSuffix(line, "ends"):
					ends++
				}
			}
			require.Equal(t, starts, ends, "the stop has waited for all that was started")
		})
	}
}

func TestTheFlightRecorderHasTheStartAndTheEndOfEachGroupThatWasUsed(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.recorder = trace.New(0)
		s.put(caches, part{slowToBe: time.Second})
		s.put(elected, part{slowToEnd: time.Second})
		require.NoError(t, s.begin(true))
		require.NoError(t, s.end(time.Minute))
		var got []string
		for _, e := range s.recorder.Events() {
			got = append(got, strings.TrimSpace(trace.Timeline{}.Line(e)))
		}
		require.Len(t, got, 8)
		for i, want := range []string{
			"start caches starting", "start caches ready", "start leader-elected starting", "start leader-elected ready",
			"stop leader-elected stopping", "stop leader-elected ended", "stop caches stopping", "stop caches ended",
		} {
			require.Contains(t, strings.Join(strings.Fields(got[i]), " "), "manager "+want)
		}
	})
}

func TestAPhaseIsRecordedOnce(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.recorder = trace.New(0)
		s.put(caches, part{})
		s.reached(caches, ready)
		s.reached(caches, ready)
		s.reached(caches, starting)
		require.Len(t, s.recorder.Events(), 1)
	})
}

// Whoever asks why the controllers fell silent looks for the moment.
func TestTheFlightRecorderHasTheMomentInWhichALostLeaseStopsTheControllers(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.recorder = trace.New(0)
		s.put(elected, part{slowToEnd: time.Minute})
		require.NoError(t, s.begin(true))
		lost := time.Since(s.recorder.Started())
		s.stopElected(errors.New("the lease is lost"))
		events := s.recorder.Events()
		last := events[len(events)-1]
		require.Equal(t, []string{"leader-elected", "stopping"}, []string{last.Name, last.Op})
		require.Equal(t, lost, last.At)
		require.NoError(t, s.end(time.Second))
	})
}

// A group to which nothing could be added any more was never used.
func TestARunnableThatIsRefusedIsNotInTheFlightRecorder(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.recorder = trace.New(0)
		s.put(elected, part{slowToEnd: time.Minute})
		require.NoError(t, s.begin(true))
		stopped := make(chan error, 1)
		go func() { stopped <- s.end(time.Hour) }()
		time.Sleep(time.Second)
		require.ErrorIs(t, s.addTo(others, RunnableFunc(nil)), ErrStopped)
		require.NoError(t, <-stopped)
		for _, e := range s.recorder.Events() {
			require.Equal(t, "leader-elected", e.Name)
		}
	})
}
