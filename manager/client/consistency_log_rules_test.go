package client

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
)

// What a log remembers, and when it forgets.

func isOver(write chan struct{}) bool {
	select {
	case <-write:
		return true
	default:
		return false
	}
}

// Function: writeLog.begin
func TestTheLogKnowsOfAWriteFromItsBeginning(t *testing.T) {
	var log writeLog
	done := log.begin(shopKey("a"))
	require.Equal(t, []ObjectKey{shopKey("a")}, log.keys("shop"), "a read that begins now has to wait for this write")
	writes := log.writesInFlight(shopKey("a"))
	require.Equal(t, 1, len(writes), "a read that begins now has to wait for this write")
	require.False(t, isOver(writes[0]), "the server has not answered yet, and a read would not wait for it")
	require.NotNil(t, done, "nobody could say that the write is over")
}

// Function: writeLog.begin
func TestTheLogLetsReadsGoOnWhenTheWriteIsDone(t *testing.T) {
	var log writeLog
	done := log.begin(shopKey("a"))
	writes := log.writesInFlight(shopKey("a"))
	done()
	require.True(t, isOver(writes[0]), "a read that waits for this write waits forever")
	require.Equal(t, 0, len(log.writesInFlight(shopKey("a"))), "the write has been answered, and is no longer under way")
	require.Equal(t, 0, len(log.entries), "nothing is left to remember, so that the log must not grow")
}

// Function: writeLog.begin
func TestTheLogKeepsTheAnswerWhenTheWriteIsDone(t *testing.T) {
	var log writeLog
	done := log.begin(shopKey("a"))
	log.wrote(shopKey("a"), "7", true)
	done()
	version, _, _ := log.answered(shopKey("a"))
	require.Equal(t, "7", version, "the server has answered; the cache has still to see it")

	done = log.begin(shopKey("b"))
	log.removed(shopKey("b"), "first")
	done()
	_, _, deleted := log.answered(shopKey("b"))
	require.Equal(t, []types.UID{"first"}, deleted, "the server has deleted it; the cache has still to see that")
}

// Function: writeLog.begin
func TestTheLogTellsTwoWritesApart(t *testing.T) {
	var log writeLog
	first, second := log.begin(shopKey("a")), log.begin(shopKey("a"))
	require.Equal(t, 2, len(log.writesInFlight(shopKey("a"))), "two goroutines may write one object")
	second()
	require.Equal(t, 1, len(log.writesInFlight(shopKey("a"))), "the first write has no answer yet, and reads have to wait for it")
	first()
}

// Function: writeLog.wrote
func TestTheLogRemembersTheNewestAnswer(t *testing.T) {
	var log writeLog
	wrote := func(version, want, why string) {
		t.Helper()
		log.wrote(shopKey("a"), version, true)
		got, _, _ := log.answered(shopKey("a"))
		require.Equal(t, want, got, why)
	}
	wrote("7", "7", "the first answer")
	wrote("9", "9", "a later one: who waits for the older one may read what it has overwritten itself")
	wrote("10", "10", "10 is more than 9: versions are numbers")
	wrote("8", "10", "two writes at once: the answer of the first may come last")
}

// Function: writeLog.wrote
func TestTheLogLeavesOutWhatNobodyCanWaitFor(t *testing.T) {
	var log writeLog
	log.wrote(shopKey("a"), "", true)
	require.Equal(t, 0, len(log.entries), "the answer has no version, as that of a dry run")
	log.wrote(shopKey("a"), "abc", true)
	require.Equal(t, 0, len(log.entries), "some servers have versions without an order, and each read would fail")
}

// Function: writeLog.wrote
func TestTheLogWaitsForAChangeThatTakesAnObjectOutOfTheCache(t *testing.T) {
	var log writeLog
	log.wrote(shopKey("a"), "7", true)
	log.wrote(shopKey("a"), "8", false)
	version, holds, _ := log.answered(shopKey("a"))
	require.Equal(t, "8", version, "the cache is about to get version 7, and must not show it after 8 was written")
	require.False(t, holds, "the cache does not select the object any more, and a read would wait for it to be there")
	log.wrote(shopKey("a"), "9", false)
	version, _, _ = log.answered(shopKey("a"))
	require.Equal(t, "9", version, "somebody else may have brought it back before this write, which has taken it out again")
	log.wrote(shopKey("a"), "8", true)
	_, holds, _ = log.answered(shopKey("a"))
	require.False(t, holds, "an older answer that comes late says nothing about version 9")
	log.wrote(shopKey("a"), "10", true)
	version, holds, _ = log.answered(shopKey("a"))
	require.Equal(t, "10", version, "a later write")
	require.True(t, holds, "it is in the cache again, and a read has to wait until it is there")
}

// Function: writeLog.wrote
func TestTheLogRemembersWhatTheCacheDoesNotSelect(t *testing.T) {
	var log writeLog
	log.wrote(shopKey("a"), "7", false)
	version, holds, _ := log.answered(shopKey("a"))
	require.Equal(t, "7", version, "somebody else may have brought the object into the cache, which is late: a read must not show it after this write")
	require.False(t, holds, "no event will come, and a read would wait for it")
}

// Function: writeLog.removed
func TestTheLogRemembersEachObjectThatWasDeleted(t *testing.T) {
	var log writeLog
	log.wrote(shopKey("a"), "7", true)
	log.removed(shopKey("a"), "first")
	version, _, deleted := log.answered(shopKey("a"))
	require.Equal(t, []types.UID{"first"}, deleted, "a read must not show what was deleted")
	require.Equal(t, "7", version, "a cache that has not seen the creation does not have the object either, and shows it a moment later")
	log.removed(shopKey("a"), "second")
	_, _, deleted = log.answered(shopKey("a"))
	require.Equal(t, []types.UID{"first", "second"}, deleted, "an object was made again under its name, and deleted again")
	log.wrote(shopKey("a"), "9", true)
	_, _, deleted = log.answered(shopKey("a"))
	require.Len(t, deleted, 2, "another object of that name was written; the cache may still have those that were deleted")
}

// Function: writeLog.seen
func TestTheLogForgetsWhatTheCacheHasSeen(t *testing.T) {
	var log writeLog
	log.wrote(shopKey("a"), "7", true)
	log.removed(shopKey("a"), "first")
	log.seen(shopKey("a"), "7", []types.UID{"first"})
	version, _, deleted := log.answered(shopKey("a"))
	require.Empty(t, version, "the cache has this version, and no read needs to ask for it again")
	require.Empty(t, deleted, "the cache has seen this end")
	require.Equal(t, 0, len(log.entries), "nothing is left to remember, but the entry stays")
	defer func() { require.Nil(t, recover(), "two reads may have waited for the same") }()
	log.seen(shopKey("a"), "7", []types.UID{"first"})
}

// Function: writeLog.seen
func TestTheLogKeepsWhatWasWrittenDuringTheWait(t *testing.T) {
	var log writeLog
	log.wrote(shopKey("a"), "7", true)
	log.removed(shopKey("a"), "first")
	version, _, deleted := log.answered(shopKey("a")) // what a read waits for now
	log.wrote(shopKey("a"), "8", true)
	log.removed(shopKey("a"), "second")
	done := log.begin(shopKey("a"))
	log.seen(shopKey("a"), version, deleted)
	version, _, deleted = log.answered(shopKey("a"))
	require.Equal(t, "8", version, "the cache has seen 7, and nobody has waited for 8 yet")
	require.Equal(t, []types.UID{"second"}, deleted, "the cache has seen the end of the first, and not yet that of the second")
	require.Equal(t, 1, len(log.writesInFlight(shopKey("a"))), "a write is still under way")
	done()
}

// Function: writeLog.keys
func TestTheLogNamesTheObjectsOfOneNamespace(t *testing.T) {
	var log writeLog
	elsewhere := ObjectKey{Namespace: "bank", Name: "a"}
	log.wrote(shopKey("a"), "7", true)
	log.wrote(elsewhere, "8", true)
	require.Equal(t, []ObjectKey{elsewhere}, log.keys("bank"), "a list of one namespace must not wait for the events of others")
	require.Len(t, log.keys(""), 2, "a list of all namespaces waits for all")
}

// Function: writeLog.keys
func TestTheLogNamesObjectsThatAreInNoNamespace(t *testing.T) {
	var log writeLog
	node := ObjectKey{Name: "node-1"}
	log.wrote(node, "7", true)
	require.Equal(t, []ObjectKey{node}, log.keys("shop"), "a list of a kind without namespaces returns all objects, even if the caller names a namespace")
}

// Function: writeLog.seen
func TestTheLogForgetsAVersionOnlyIfItIsTheOneThatWasSeen(t *testing.T) {
	var log writeLog
	log.wrote(shopKey("a"), "10", true)
	log.seen(shopKey("a"), "9", nil)
	require.Contains(t, log.keys(""), shopKey("a"), "version 10 was written during the wait for 9, and nobody has waited for it yet. As text, 10 comes before 9")
}

// Many goroutines write and read with one client.
func TestTheLogIsUsedUnderItsLock(t *testing.T) {
	var log writeLog
	done := log.begin(shopKey("a"))
	for _, c := range []struct {
		what string
		call func()
	}{
		{"begin", func() { log.begin(shopKey("b")) }},
		{"the function that begin returns", done},
		{"wrote", func() { log.wrote(shopKey("a"), "7", true) }},
		{"removed", func() { log.removed(shopKey("a"), "first") }},
		{"keys", func() { log.keys("") }},
		{"seen", func() { log.seen(shopKey("a"), "7", []types.UID{"first"}) }},
	} {
		log.mu.Lock()
		returned := make(chan struct{})
		go func() { c.call(); close(returned) }()
		for range 1000 {
			runtime.Gosched() // it may run; with the lock taken, it cannot return
		}
		early := isOver(returned)
		log.mu.Unlock()
		<-returned
		require.False(t, early, "%s did not wait for the lock, which another goroutine held: two that change the log at once crash the program", c.what)
	}
}
