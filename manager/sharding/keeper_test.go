package sharding

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
)

// lists are the calls of Keep, which the test answers.
type lists chan list

type list struct {
	ctx    context.Context
	before []Set
	ranges Set
	answer chan error
}

func (l lists) next() list {
	synctest.Wait()
	return <-l
}

func withKeeper(t *testing.T, test func(m *Member, l lists)) {
	synctest.Test(t, func(t *testing.T) {
		l := make(lists)
		m := &Member{gate: newGate(func(Set) {}), config: Config{RetryPeriod: 2 * time.Second, Keep: func(ctx context.Context, inTurn []Set) error {
			last := len(inTurn) - 1
			now := list{ctx, inTurn[:last], inTurn[last], make(chan error)}
			l <- now
			return <-now.answer
		}}}
		m.keeper.news = make(chan struct{}, 1)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			m.keep(ctx, logr.Discard())
		}()
		test(m, l)
		cancel()
		<-ended
	})
}

// holds is what the loop does when ranges begin, or have stopped.
func (m *Member) holds(ranges, begin Set) {
	m.gate.stop(m.keeper.ranges.without(ranges))
	m.keeper.set(ranges, begin, m.gate)
}

// A controller would see an empty namespace, and create what's there.
func TestNothingBeginsBeforeItsListHasEnded(t *testing.T) {
	withKeeper(t, func(m *Member, l lists) {
		m.holds(of("red"), of("red"))
		first := l.next()
		require.Equal(t, of("red"), first.ranges)
		isShut(t, m.gate, "red")
		first.answer <- errors.New("the server is away")
		synctest.Wait()
		isShut(t, m.gate, "red")
		began := time.Now()
		again := l.next()
		require.Equal(t, 2*time.Second, time.Since(began), "it's tried again")
		again.answer <- nil
		synctest.Wait()
		enter(t, m.gate, "red")
	})
}

// A list that ends after its range has gone opens nothing.
func TestALateListOpensNothing(t *testing.T) {
	withKeeper(t, func(m *Member, l lists) {
		m.holds(of("red").or(of("blue")), of("red").or(of("blue")))
		late := l.next()
		m.holds(of("blue"), nil)
		require.ErrorIs(t, late.ctx.Err(), context.Canceled, "nobody needs it any more")
		late.answer <- nil
		next := l.next()
		require.Equal(t, of("blue"), next.ranges)
		isShut(t, m.gate, "red")
		isShut(t, m.gate, "blue") // it was in the late list, but that one isn't kept
		next.answer <- nil
		synctest.Wait()
		isShut(t, m.gate, "red")
		enter(t, m.gate, "blue")
	})
}

// Another replica may have written there meanwhile, so the list that was under way when the range was lost won't do.
func TestARangeThatComesBackIsListedAgain(t *testing.T) {
	withKeeper(t, func(m *Member, l lists) {
		m.holds(of("red"), of("red"))
		old := l.next()
		m.holds(nil, nil)
		m.holds(of("red"), of("red"))
		old.answer <- nil
		fresh := l.next()
		isShut(t, m.gate, "red")
		fresh.answer <- nil
		synctest.Wait()
		enter(t, m.gate, "red")

		// Between two looks of the keeper, so the set is the same.
		m.gate.stop(of("red"))
		m.keeper.set(of("red"), of("red"), m.gate)
		fresh = l.next()
		require.Equal(t, []Set{nil}, fresh.before, "another replica may have written there")
		isShut(t, m.gate, "red")
		fresh.answer <- nil
		synctest.Wait()
		enter(t, m.gate, "red")
	})
}

// A cache may keep more than what fits a selector; the gate lets no more begin than what's ours.
func TestACacheKeepsRoughlyWhatTheGateHasExactly(t *testing.T) {
	withKeeper(t, func(m *Member, l lists) {
		var many Set
		for i := range uint64(200) {
			many = many.or(Set{{i << 50, i<<50 + 1<<20}})
		}
		m.holds(many, many)
		now := l.next()
		require.Len(t, now.ranges, maxTerms)
		require.Empty(t, many.without(now.ranges))
		require.Empty(t, now.before)
		now.answer <- nil
		synctest.Wait()
		require.Equal(t, many, m.gate.Open())

		// What's lost leaves the cache, even if it comes along.
		lost := Range{many[7].First + 5, many[7].First + 5}
		m.holds(many.without(Set{lost}), nil)
		now = l.next()
		require.True(t, now.ranges.has(lost.First), "nobody else is told so")
		require.Len(t, now.before, 1)
		require.Empty(t, now.before[0].and(Set{lost}))
		require.Empty(t, now.ranges.without(now.before[0].or(Set{lost})), "and nothing else does")
		now.answer <- nil
	})
}
