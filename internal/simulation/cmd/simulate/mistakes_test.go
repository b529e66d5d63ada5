package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A mistake that can't be made any more, because its line has changed, would only be noticed by whoever
// plays them next.
func TestEachMistakeCanBeMade(t *testing.T) {
	t.Chdir("../../../..")
	made := map[string]bool{}
	for _, m := range mistakes {
		text, err := m.broken()
		require.NoError(t, err, m.what)
		require.Contains(t, text, m.wrong, m.what)
		assert.False(t, made[text], "%s is there twice", m.what)
		made[text] = true
	}
	for _, s := range stories {
		assert.True(t, madeIn(s.name), "no mistake shows that the judges of %s see anything", s.name)
	}
}

func madeIn(controller string) bool {
	for _, m := range mistakes {
		if m.controller == controller {
			return true
		}
	}
	return false
}

func TestAMistakeWhoseLineHasChangedSaysWhereToMendIt(t *testing.T) {
	t.Chdir("../../../..")
	_, err := mistake{file: "controllers/replicaset/pods.go", right: "no such line"}.broken()
	require.ErrorContains(t, err, "mistakes.go")
	_, err = mistake{file: "controllers/replicaset/pods.go", right: "err"}.broken()
	require.ErrorContains(t, err, "times", "it'd be made in more places than one")
}
