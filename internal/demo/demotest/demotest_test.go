package demotest

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// An API server sends bookmarks when it likes to. A demo that shows one must still show it.
func TestOnlyMoreBookmarksThanShownAreLeftOut(t *testing.T) {
	const event, bookmark = "TIME listwatch watch event apple\n", "TIME listwatch bookmark nothing else\n"
	shown := event + bookmark + event
	assert.Equal(t, shown, withoutMoreBookmarks(shown, bookmark+event+bookmark+event+bookmark))
	assert.Equal(t, shown, withoutMoreBookmarks(shown, shown))
	assert.Equal(t, event+event, withoutMoreBookmarks(shown, event+event), "the one that is shown is missing")
	assert.Equal(t, event+bookmark+event+event, withoutMoreBookmarks(shown, event+bookmark+event+event), "an event too many")
}
