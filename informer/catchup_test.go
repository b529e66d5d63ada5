package informer

import (
	"testing"

	"github.com/stretchr/testify/require"
)

var web, db = keyIn("shop", "web"), keyIn("shop", "db")

func caughtUp(w *catchupWait) bool {
	select {
	case <-w.caught:
		return true
	default:
		return false
	}
}

// waitFor begins to wait; the cache holds the object in the cached version.
func waitFor(t *testing.T, c *catchup, key Key, version, cached string) *catchupWait {
	t.Helper()
	w, err := c.wait(key, version, func() string { return cached })
	require.NoError(t, err)
	return w
}

// Function: catchup.wait or catchupWait.isMet
func TestWhoWaitsForWhatIsThereDoesNotWait(t *testing.T) {
	var c catchup
	require.True(t, caughtUp(waitFor(t, &c, web, "7", "7")), "the cache holds this very version")
	require.True(t, caughtUp(waitFor(t, &c, web, "7", "8")), "the cache holds a newer version: somebody else wrote after us")
	require.Empty(t, c.waiting, "who does not wait must not be kept as one who waits")
}

// Versions are numbers of any length. As text, "9" is greater than "10".
// Function: catchupWait.isMet
func TestVersionsAreComparedAsNumbers(t *testing.T) {
	var c catchup
	require.False(t, caughtUp(waitFor(t, &c, web, "10", "9")), "9 is older than 10")
	require.True(t, caughtUp(waitFor(t, &c, web, "9", "10")), "10 is newer than 9")
}

// Function: catchup.wait or catchup.saw
func TestTheEventItselfWakes(t *testing.T) {
	var c catchup
	w := waitFor(t, &c, web, "7", "5")
	c.saw(web, "6")
	require.False(t, caughtUp(w), "version 6 is not the version that was written, but one before it")
	c.saw(web, "7")
	require.True(t, caughtUp(w), "the event of the written version must end the wait")
	require.Empty(t, c.waiting, "who was woken is no longer waiting")
}

// Function: catchup.saw
func TestAnEventOfAnotherObjectWakesNobody(t *testing.T) {
	var c catchup
	w := waitFor(t, &c, web, "7", "")
	c.saw(db, "9")
	require.False(t, caughtUp(w), "the event of another object says nothing of this one: events of different objects may overtake each other in the queue")
	require.False(t, caughtUp(waitFor(t, &c, web, "7", "")), "nor does it say that the cache as a whole has come so far: who comes later must wait, too")
}

// Function: catchup.saw
func TestEveryoneIsWokenAtTheirOwnVersion(t *testing.T) {
	var c catchup
	first, second := waitFor(t, &c, web, "7", ""), waitFor(t, &c, web, "9", "")
	c.saw(web, "8")
	require.True(t, caughtUp(first))
	require.False(t, caughtUp(second), "version 8 is not enough for who waits for 9")
	c.saw(web, "9")
	require.True(t, caughtUp(second))
}

// An informer fills its store long before anybody waits for a write. These are the
// first calls that it makes, and a panic there takes the process down.
// Function: catchup.saw or catchup.arrived
func TestWhatComesBeforeAnybodyWaitsWakesNobody(t *testing.T) {
	var c catchup
	c.saw(web, "7")
	c.arrived("7")
	require.Empty(t, c.waiting)
	require.False(t, caughtUp(waitFor(t, &c, web, "8", "")), "the next version is still to come")
}

// The object was written, and somebody deleted it before the cache had heard of
// it. There will be no event of that version, ever.
// Function: catchup.arrived
func TestWhoWaitsForWhatIsGoneIsWokenByTheProgressOfTheWhole(t *testing.T) {
	var c catchup
	w := waitFor(t, &c, web, "7", "")
	c.arrived("6")
	require.False(t, caughtUp(w), "the cache has not come far enough")
	c.arrived("8")
	require.True(t, caughtUp(w), "the whole cache has come past that version: it is not older than the write, whatever it holds")
}

// Function: catchup.arrived
func TestProgressWakesEveryoneAndOnlyOnce(t *testing.T) {
	for range 50 { // a map is walked through in another order each time
		var c catchup
		w, d, late := waitFor(t, &c, web, "7", ""), waitFor(t, &c, db, "8", ""), waitFor(t, &c, db, "20", "")
		c.arrived("9")
		require.True(t, caughtUp(w), "who waits for shop/web has waited long enough, also if somebody must go on waiting for shop/db")
		require.True(t, caughtUp(d), "who waits for shop/db has waited long enough, also if somebody else must go on waiting for it")
		require.False(t, caughtUp(late), "the cache has not come to version 20 yet")
		require.Equal(t, 0, len(c.waiting[web]), "who was woken is no longer waiting, and would be woken again by the next progress: to close a closed channel panics")
		require.Len(t, c.waiting[db], 1, "of those who wait for shop/db one was woken, and one goes on waiting")
		c.arrived("9")
		c.arrived("20")
		require.True(t, caughtUp(late), "the cache has come to version 20")
		require.Empty(t, c.waiting, "everybody was woken, so nobody waits")
	}
}

// Between a look without the lock and the wait, the event may come; then nobody
// wakes the one who waits.
// Function: catchup.wait
func TestTheCacheIsAskedWithTheLockHeld(t *testing.T) {
	var c catchup
	_, err := c.wait(web, "7", func() string {
		free := c.mu.TryLock()
		if free {
			c.mu.Unlock()
		}
		require.False(t, free, "the lock must be held while the cache is asked: the event may come between the look and the wait")
		return ""
	})
	require.NoError(t, err, "7 is a version that can be waited for")
}

// Function: catchup.wait or catchup.arrived
func TestWhoComesAfterTheCacheHasPassedDoesNotWait(t *testing.T) {
	var c catchup
	c.arrived("8")
	require.True(t, caughtUp(waitFor(t, &c, web, "7", "")), "the whole cache has come past that version already")
}

// Function: catchup.wait
func TestAVersionThatIsNoNumberIsAnError(t *testing.T) {
	var c catchup
	_, err := c.wait(web, "", func() string { return "1" })
	require.ErrorContains(t, err, "waiting for shop/web")
}

func TestWhoGivesUpIsForgotten(t *testing.T) {
	var c catchup
	w := waitFor(t, &c, web, "7", "")
	c.forget(web, w)
	require.Empty(t, c.waiting)
	c.saw(web, "8")
}
