package sharding

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// of is the range that has one namespace and no other.
func of(namespace string) Set { return Set{{hashOf(namespace), hashOf(namespace)}} }

// aGate is open for some namespaces.
func aGate(t *testing.T, namespaces ...string) (g *Gate, ended *Set) {
	ended = new(Set)
	g = newGate(func(ranges Set) {
		require.False(t, ranges.IsEmpty())
		*ended = ended.or(ranges)
	})
	for _, namespace := range namespaces {
		g.allow(of(namespace))
	}
	g.begin()
	return g, ended
}

func enter(t *testing.T, g *Gate, namespace string) (working context.Context, leave func()) {
	working, leave, ok := g.Enter(context.Background(), namespace)
	require.True(t, ok, namespace)
	return working, leave
}

func isShut(t *testing.T, g *Gate, namespace string) {
	t.Helper()
	_, _, ok := g.Enter(context.Background(), namespace)
	require.False(t, ok, namespace)
}

// The next holder would begin while this one is still at work.
func TestARangeHasEndedWhenItsLastReconcileHas(t *testing.T) {
	g, ended := aGate(t, "red", "blue")
	_, leaveFirst := enter(t, g, "red")
	_, leaveSecond := enter(t, g, "red")
	_, leaveBlue := enter(t, g, "blue")
	require.Empty(t, g.stop(of("red")))
	isShut(t, g, "red")
	leaveFirst()
	leaveBlue()
	require.Empty(t, *ended, "blue isn't stopping, and somebody is in red")
	leaveSecond()
	require.Equal(t, of("red"), *ended)
	enter(t, g, "blue")
}

// One slow namespace would hold up all that goes with it.
func TestRangesThatStopTogetherEndOneByOne(t *testing.T) {
	g, ended := aGate(t, "red", "blue", "green")
	_, leave := enter(t, g, "red")
	require.Equal(t, of("blue"), g.stop(of("red").or(of("blue"))), "nobody is in blue")
	require.Equal(t, of("green"), g.stop(of("green")))
	require.Empty(t, *ended)
	leave()
	require.Equal(t, of("red"), *ended, "and blue isn't reported again")
}

// A range is cut at a place inside: somebody works in one half, and only the other one goes.
func TestHalfARangeCanStop(t *testing.T) {
	g, ended := aGate(t)
	g.allow(everything)
	g.begin()
	_, leave := enter(t, g, "red")
	half := Set{{0, hashOf("red") - 1}}
	require.Equal(t, half, g.stop(half))
	require.Equal(t, everything.without(half), g.Open())
	rest := Set{{hashOf("red"), hashOf("red") + 1000}}
	require.Empty(t, g.stop(rest))
	leave()
	require.Equal(t, rest, *ended)
}

// A reconcile whose range was given away, and that didn't end in time, is cut off. One that began
// when the range had come back isn't.
func TestOnlyThoseWhoWereInsideAreCutOff(t *testing.T) {
	g, _ := aGate(t, "red", "blue")
	old, leave := enter(t, g, "red")
	bystander, _ := enter(t, g, "blue")
	g.stop(of("red"))
	terminate := g.terminator(of("red"))
	require.NoError(t, old.Err())

	leave()
	g.allow(of("red"))
	require.Equal(t, of("red"), g.begin())
	fresh, _ := enter(t, g, "red")
	terminate()
	require.NoError(t, fresh.Err())
	require.NoError(t, bystander.Err())

	g.stop(of("red"))
	g.terminator(of("red"))()
	require.ErrorIs(t, context.Cause(fresh), ErrNotOurs)
	require.NoError(t, bystander.Err())
}

// After the Lease is lost, nothing begins, everything is cut off, and the replica waits for the last.
func TestAClosedGateStaysClosed(t *testing.T) {
	g, _ := aGate(t, "red", "blue")
	red, leaveRed := enter(t, g, "red")
	blue, leaveBlue := enter(t, g, "blue")
	g.close()
	require.ErrorIs(t, context.Cause(red), ErrNotOurs)
	require.ErrorIs(t, context.Cause(blue), ErrNotOurs)
	g.allow(of("green"))
	require.Empty(t, g.begin(), "a list that ends too late")
	isShut(t, g, "green")
	isShut(t, g, "red")
	leaveRed()
	select {
	case <-g.empty:
		t.Fatal("somebody is in blue")
	default:
	}
	leaveBlue()
	g.wait()

	g, _ = aGate(t)
	g.close()
	g.wait() // nobody was there
}

// Controllers ask their sources again for what has come.
func TestControllersHearWhatHasCome(t *testing.T) {
	g, _ := aGate(t, "red")
	var heard []bool
	forget := g.OnOpen(func(opened func(string) bool) { heard = append(heard, opened("red"), opened("blue")) })
	g.allow(of("blue"))
	isShut(t, g, "blue") // the caches don't have it yet
	g.tell(g.begin())
	require.Equal(t, []bool{false, true}, heard)
	forget()
	g.tell(everything)
	require.Len(t, heard, 2)
}

// A process that was paused wakes, and begins what another one is doing by then: the loop that closes
// the gate may come to its turn later than a worker.
func TestNothingBeginsWhenItsTooLateByTheClock(t *testing.T) {
	g, _ := aGate(t, "red")
	_, leave := enter(t, g, "red")
	leave()
	g.late = func() bool { return true }
	isShut(t, g, "red")
}
