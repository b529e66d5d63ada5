package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// kept is what's kept of a stream that arrives in pieces of an odd size.
func kept(t *testing.T, text string) string {
	t.Helper()
	var f failures
	for rest := text; rest != ""; {
		n := min(7, len(rest))
		taken, err := f.Write([]byte(rest[:n]))
		require.NoError(t, err)
		require.Equal(t, n, taken)
		rest = rest[n:]
	}
	return f.text.String()
}

func numbered(n int) (lines string) {
	for i := range n {
		lines += fmt.Sprintln("line", i)
	}
	return lines
}

func TestEachWayToFailIsKeptWithWhatFollows(t *testing.T) {
	for _, first := range []string{
		"--- FAIL: TestIt (0.01s)\n", "    --- FAIL: TestIt/part (0.01s)\n", "panic: no\n", "fatal error: all goroutines are asleep\n", "WARNING: DATA RACE\n",
	} {
		assert.Equal(t, first+numbered(24), kept(t, numbered(3)+first+numbered(50)))
	}
	assert.Empty(t, kept(t, "no panic: it said --- FAIL: \n"))
}

func TestTwoFailuresInARowHaveRoomForOne(t *testing.T) {
	const first, second = "--- FAIL: TestOne\n", "--- FAIL: TestTwo\n"
	assert.Equal(t, first+numbered(10)+second+numbered(24), kept(t, first+numbered(10)+second+numbered(50)))
}

// A program that fails in a loop would fill the report.
func TestOnlySoMuchIsKept(t *testing.T) {
	text := kept(t, strings.Repeat("panic: again "+strings.Repeat("x", 100)+"\n", 1000))
	assert.LessOrEqual(t, len(text), failureBytes)
	assert.Greater(t, len(text), failureBytes-200)
}
