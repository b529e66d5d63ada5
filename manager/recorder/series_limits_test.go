package recorder

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The list of idle series is in the order of their writes, so one that has ended may be behind one
// that has not.
func TestASeriesHasEndedAlsoIfOneBeforeItHasNot(t *testing.T) {
	p := playing(t)
	p.observe(occurrence("slow", "n"))
	slow, _ := p.take(p.now)
	p.pass(time.Minute)
	quick := occurrence("quick", "n")
	quick.Namespace = "another" // it need not wait for the slow one
	p.observe(quick)
	p.writeAll()
	p.keep(slow)
	p.ended(slow, written, p.now)

	p.pass(endsAfter - time.Minute + 1)
	p.observe(occurrence("slow", "n"))
	u, due := p.take(p.now)
	require.True(t, due)
	require.False(t, u.created)
	require.Nil(t, u.event.Series)
	p.ended(u, written, p.now)

	p.pass(time.Minute)
	p.observe(occurrence("slow", "n"))
	u, due = p.take(p.now)
	require.True(t, due)
	require.True(t, u.created, "what is left of the old one is not taken for the new one")
}

// The field of the API has 32 bits. A count that begins again below zero is refused by the server.
func TestACountThatCannotGrowStays(t *testing.T) {
	p := playing(t)
	p.observe(occurrence("a", "n"))
	p.all[key(p, "a")].count = math.MaxInt32 - 1
	p.observe(occurrence("a", "n"))
	p.observe(occurrence("a", "n"))
	p.writeAll()
	require.Equal(t, int32(math.MaxInt32), p.server["a/n"])
}

// The server refuses a note of more than 1024 bytes, and the prefix makes it longer.
func TestACombinedNoteFits(t *testing.T) {
	p := playing(t)
	for n := range maxNotes {
		p.observe(occurrence("a", fmt.Sprint(n)))
	}
	p.writeAll()
	p.observe(occurrence("a", strings.Repeat("x", noteLimit)))
	u, _ := p.take(p.now)
	require.Len(t, u.event.Note, noteLimit)
	require.True(t, strings.HasPrefix(u.event.Note, combinedPrefix+"x"))
}

// People read events in the order in which they happened.
func TestWhatIsDueAtOneTimeIsWrittenInTheOrderInWhichItHappened(t *testing.T) {
	p := playing(t)
	var happened, told []string
	for n := range 20 {
		name := fmt.Sprint(n)
		happened = append(happened, name)
		p.observe(occurrence(name, "n"))
	}
	for u, due := p.take(p.now); due; u, due = p.take(p.now) {
		told = append(told, u.event.Regarding.Name)
		p.ended(u, written, p.now)
	}
	require.Equal(t, happened, told)
}

// One event that the server does not take would hold up all that come after it, and one that goes
// on would overtake all others.
func TestWhatIsDueFirstIsWrittenFirst(t *testing.T) {
	p := playing(t)
	first := func() string {
		u, due := p.take(p.now)
		require.True(t, due)
		p.ended(u, written, p.now)
		return u.event.Regarding.Name
	}
	p.observe(occurrence("fails", "n"))
	u, _ := p.take(p.now)
	p.ended(u, unsure, p.now)
	p.observe(occurrence("later", "n"))
	require.Equal(t, "later", first(), "the one that fails is not due yet")
	p.pass(time.Second)
	require.Equal(t, "fails", first())

	// it becomes a series, and goes on after a while
	for _, pause := range []time.Duration{0, refreshEvery + time.Minute} {
		p.pass(pause)
		p.observe(occurrence("new"+pause.String(), "n"))
		p.pass(time.Second)
		p.observe(occurrence("later", "n"))
		require.Equal(t, "new"+pause.String(), first())
		require.Equal(t, "later", first())
	}
}

// An event that was given up makes room for one other note, and not for ten.
func TestANoteThatIsForgottenMakesRoomForOne(t *testing.T) {
	p := playing(t)
	for n := range maxNotes {
		p.observe(occurrence("a", fmt.Sprint(n)))
	}
	u, _ := p.take(p.now)
	p.ended(u, unwanted, p.now)
	p.observe(occurrence("a", "new"))
	p.observe(occurrence("a", "one too many"))
	p.writeAll()
	require.Len(t, p.server, maxNotes+1, "and what is combined")
	require.Contains(t, p.server, "a/new")
	require.Contains(t, p.server, "a/"+combinedPrefix+"one too many")
}

// An outage that is over must not make the next one's first pause longer.
func TestAWriteThatSucceedsEndsTheCountOfFailures(t *testing.T) {
	p := playing(t)
	for range 2 {
		p.observe(occurrence("a", "n"))
		for range maxTries - 1 {
			u, due := p.take(p.now)
			require.True(t, due)
			require.Equal(t, unsure, p.ended(u, unsure, p.now))
			p.now = p.next()
		}
		u, _ := p.take(p.now)
		require.True(t, u.unsure)
		p.ended(u, written, p.now)
		require.Zero(t, p.next())
	}
	p.observe(occurrence("a", "n"))
	p.pass(refreshEvery)
	u, due := p.take(p.now)
	require.True(t, due)
	require.False(t, u.unsure, "the last write is known to have arrived")
	p.ended(u, unsure, p.now)
	require.Equal(t, p.now.Add(time.Second), p.next())
}
