package informer

import (
	"testing"

	"github.com/stretchr/testify/require"
)

var web, db = keyIn("shop", "web"), keyIn("shop", "db")

func caughtUp(w *versionWait) bool {
	select {
	case <-w.caught:
		return true
	default:
		return false
	}
}

// waitFor begins to wait; the cache holds the object in the cached version.
func waitFor(t *testing.T, c *versionTracker, key Key, version, cached string) *versionWait {
	t.Helper()
	w, err := c.wait(key, version, func() string { return cached })
	require.NoError(t, err)
	return w
}

// Function: versionTracker.wait or versionWait.isMet
func TestWhoWaitsForWhatIsThereDoesNotWait(t *testing.T) {
	var c versionTracker
	require.True(t, caughtUp(waitFor(t, &c, web, "7", "7")), "the cache holds this very version")
	require.True(t, caughtUp(waitFor(t, &c, web, "7", "8")), "the cache holds a newer version: somebody else wrote after us")
	require.Empty(t, c.waits, "a call that does not wait must not be kept among the waits")
}

// Versions are numbers of any length. As text, "9" is greater than "10".
// Function: versionWait.isMet
func TestVersionsAreComparedAsNumbers(t *testing.T) {
	var c versionTracker
	require.False(t, caughtUp(waitFor(t, &c, web, "10", "9")), "9 is older than 10")
	require.True(t, caughtUp(waitFor(t, &c, web, "9", "10")), "10 is newer than 9")
}

// Function: versionTracker.wait or versionTracker.stored
func TestTheEventItselfWakes(t *testing.T) {
	var c versionTracker
	w := waitFor(t, &c, web, "7", "5")
	c.stored(web, "6")
	require.False(t, caughtUp(w), "version 6 is not the version that was written, but one before it")
	c.stored(web, "7")
	require.True(t, caughtUp(w), "the event of the written version must end the wait")
	require.Empty(t, c.waits, "who was woken is no longer waiting")
}

// Function: versionTracker.stored
func TestAnEventOfAnotherObjectWakesNobody(t *testing.T) {
	var c versionTracker
	w := waitFor(t, &c, web, "7", "")
	c.stored(db, "9")
	require.False(t, caughtUp(w), "the event of another object says nothing of this one: it may be from a list, in which objects come in any order")
	require.False(t, caughtUp(waitFor(t, &c, web, "7", "")), "nor does it say that the cache as a whole has come so far: who comes later must wait, too")
}

// Function: versionTracker.stored
func TestEveryoneIsWokenAtTheirOwnVersion(t *testing.T) {
	var c versionTracker
	first, second := waitFor(t, &c, web, "7", ""), waitFor(t, &c, web, "9", "")
	c.stored(web, "8")
	require.True(t, caughtUp(first))
	require.False(t, caughtUp(second), "version 8 is not enough for a wait for 9")
	c.stored(web, "9")
	require.True(t, caughtUp(second))
}

// An informer fills its store long before anybody waits for a write. These are the
// first calls that it makes, and a panic there takes the process down.
// Function: versionTracker.stored or versionTracker.advanced
func TestWhatComesBeforeAnybodyWaitsWakesNobody(t *testing.T) {
	var c versionTracker
	c.stored(web, "7")
	c.advanced("7")
	require.Empty(t, c.waits)
	require.False(t, caughtUp(waitFor(t, &c, web, "8", "")), "the next version is still to come")
}

// The object was written, and somebody deleted it before the cache had heard of
// it. There will be no event of that version, ever.
// Function: versionTracker.advanced
func TestWhoWaitsForWhatIsGoneIsWokenByTheProgressOfTheWhole(t *testing.T) {
	var c versionTracker
	w := waitFor(t, &c, web, "7", "")
	c.advanced("6")
	require.False(t, caughtUp(w), "the cache has not come far enough")
	c.advanced("8")
	require.True(t, caughtUp(w), "the whole cache has come past that version: it is not older than the write, whatever it holds")
}

// Function: versionTracker.advanced
func TestProgressWakesEveryoneAndOnlyOnce(t *testing.T) {
	for range 50 { // a map is walked through in another order each time
		var c versionTracker
		w, d, late := waitFor(t, &c, web, "7", ""), waitFor(t, &c, db, "8", ""), waitFor(t, &c, db, "20", "")
		c.advanced("9")
		require.True(t, caughtUp(w), "the wait for shop/web is over, even if one for shop/db goes on")
		require.True(t, caughtUp(d), "this wait for shop/db is over, even if another one for it goes on")
		require.False(t, caughtUp(late), "the cache has not come to version 20 yet")
		require.Equal(t, 0, len(c.waits[web]), "who was woken is no longer waiting, and would be woken again by the next progress: to close a closed channel panics")
		require.Len(t, c.waits[db], 1, "of the waits for shop/db one is over, and one goes on")
		c.advanced("9")
		c.advanced("20")
		require.True(t, caughtUp(late), "the cache has come to version 20")
		require.Empty(t, c.waits, "everybody was woken, so nobody waits")
	}
}

// Between a look without the lock and the wait, the event may come; then nobody
// wakes the caller that waits.
// Function: versionTracker.wait
func TestTheCacheIsAskedWithTheLockHeld(t *testing.T) {
	var c versionTracker
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

// Function: versionTracker.wait or versionTracker.advanced
func TestWhoComesAfterTheCacheHasPassedDoesNotWait(t *testing.T) {
	var c versionTracker
	c.advanced("8")
	require.True(t, caughtUp(waitFor(t, &c, web, "7", "")), "the whole cache has come past that version already")
}

// Function: versionTracker.wait
func TestAVersionThatIsNoNumberIsAnError(t *testing.T) {
	var c versionTracker
	_, err := c.wait(web, "seven", func() string { return "1" })
	require.ErrorContains(t, err, "waiting for shop/web", "the error must name the object")
	_, err = c.wait(web, "", func() string { return "1" })
	require.EqualError(t, err, "waiting for shop/web: there is no resourceVersion to wait for: either none was given, or the server gives this kind none",
		"an empty version must be an error, and not a wait that never ends")
	require.Empty(t, c.waits, "a wait that is refused must not be kept")
}

// A controller that waits for a million writes in one storm must not keep a map of
// that size for the rest of its life.
func TestWhenNobodyWaitsNothingIsKept(t *testing.T) {
	var c versionTracker
	waitFor(t, &c, web, "7", "")
	c.stored(web, "7")
	require.Nil(t, c.waits)
	c.cancel(web, waitFor(t, &c, web, "8", ""))
	require.Nil(t, c.waits)
	woken := waitFor(t, &c, web, "9", "")
	c.stored(web, "9")
	c.cancel(web, woken) // which its caller cannot know
	require.Nil(t, c.waits)
}

func TestWhoGivesUpIsForgotten(t *testing.T) {
	var c versionTracker
	w := waitFor(t, &c, web, "7", "")
	c.cancel(web, w)
	require.Empty(t, c.waits)
	c.stored(web, "8")
}
