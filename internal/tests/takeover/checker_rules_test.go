package takeover

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A checker that hears nothing wrong in a wrong story would let any bug pass.
func TestTheCheckerHearsWhatIsWrong(t *testing.T) {
	for story, s := range map[string]struct {
		play  func(c *checker)
		wrong string // "" if nothing is
	}{
		"one after the other": {play: func(c *checker) {
			c.ends(c.begins("p", "o", time.Now()), succeeded)
			c.begins("q", "o", time.Now())
			c.writes("q", "o")
		}},
		"two at once": {play: func(c *checker) {
			c.begins("p", "o", time.Now())
			c.begins("q", "o", time.Now())
		}, wrong: "q begins to reconcile o, and p is inside"},
		"one twice": {play: func(c *checker) {
			c.begins("p", "o", time.Now())
			c.begins("p", "o", time.Now())
		}, wrong: "p begins to reconcile o, and p is inside"},
		"two objects": {play: func(c *checker) {
			c.begins("p", "o", time.Now())
			c.begins("q", "other", time.Now())
		}},
		"a write from outside": {play: func(c *checker) {
			c.ends(c.begins("p", "o", time.Now()), "failed")
			c.writes("p", "o")
		}, wrong: "p writes o, and isn't inside"},
		"a write that's another one's": {play: func(c *checker) {
			c.begins("p", "o", time.Now())
			c.writes("q", "o")
		}, wrong: "q writes o, and p is inside"},
		"somebody comes while one is paused": {play: func(c *checker) {
			asleep := c.begins("p", "o", time.Now())
			c.pauses("p")
			comes := c.begins("q", "o", time.Now())
			c.ends(asleep, "failed")
			c.writes("q", "o")
			c.ends(comes, succeeded)
		}},
		"somebody comes after one that was paused, and is paused no more": {play: func(c *checker) {
			c.ends(c.begins("p", "o", time.Now()), succeeded)
			c.pauses("p")
			c.begins("p", "o", time.Now())
			c.begins("q", "o", time.Now())
		}, wrong: "q begins to reconcile o, and p is inside"},
		"one that was paused writes": {play: func(c *checker) {
			c.begins("p", "o", time.Now())
			c.pauses("p")
			c.begins("q", "o", time.Now())
			c.writes("p", "o")
		}, wrong: "p writes o, and q is inside"},
		"one that was paused writes when the other one has ended": {play: func(c *checker) {
			c.begins("p", "o", time.Now())
			c.pauses("p")
			c.ends(c.begins("q", "o", time.Now()), succeeded)
			c.retires("p")
			c.writes("p", "o")
		}, wrong: "p writes o, and others have taken over what it had"},
		"one that was paused hadn't said yet that it had begun": {play: func(c *checker) {
			begun := time.Now()
			c.pauses("p")
			c.begins("q", "o", time.Now())
			c.retires("p")
			c.ends(c.begins("p", "o", begun), "failed")
			c.writes("q", "o")
		}},
		"one that has lost everything begins": {play: func(c *checker) {
			c.pauses("p")
			c.retires("p")
			c.begins("p", "o", time.Now())
		}, wrong: "p begins to reconcile o, and others have taken over what it had"},
		"somebody comes after a death": {play: func(c *checker) {
			c.begins("p", "o", time.Now())
			c.dies("p")
			c.begins("q", "o", time.Now())
		}},
		"one that takes over doesn't know the last write": {play: func(c *checker) {
			c.ends(c.begins("p", "o", time.Now()), succeeded)
			c.ends(c.begins("q", "o", time.Now()), conflict)
		}, wrong: `q hasn't seen the last write to o, by "p"`},
		"one doesn't know what it has written itself": {play: func(c *checker) {
			c.ends(c.begins("p", "o", time.Now()), succeeded)
			c.ends(c.begins("p", "o", time.Now()), failed)
			c.ends(c.begins("p", "o", time.Now()), conflict)
		}, wrong: `p hasn't seen the last write to o, by "p"`},
		"a user was faster": {play: func(c *checker) {
			c.ends(c.begins("p", "o", time.Now()), succeeded)
			c.usersWrite()
			c.ends(c.begins("p", "o", time.Now()), conflict)
		}},
	} {
		c := newChecker()
		s.play(c)
		if s.wrong == "" {
			require.Empty(t, c.found(), story)
		} else {
			require.Equal(t, []string{s.wrong}, c.found(), story)
		}
	}
}
