package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// wide is a picture of two lines that says how wide it is.
func wide(width int, _ bool) []string { return []string{fmt.Sprint("width ", width), "the end"} }

// open returns when the picture was asked for.
func open(ctx context.Context, out io.Writer) *screen {
	asked := make(chan struct{})
	var once sync.Once
	lines := func(width int, color bool) []string {
		once.Do(func() { close(asked) })
		return wide(width, color)
	}
	s := openScreen(ctx, out, func() int { return 40 }, lines,
		tea.WithWindowSize(40, 10), tea.WithColorProfile(colorprofile.NoTTY), tea.WithEnvironment([]string{"TERM=xterm"}))
	<-asked
	return s
}

// cursorIsBack asserts that the terminal is not left without a cursor.
func cursorIsBack(t *testing.T, out string) {
	t.Helper()
	assert.Equal(t, strings.Count(out, ansi.HideCursor), strings.Count(out, ansi.ShowCursor), "%q", out)
}

func TestTheStoryScrollsAboveThePicture(t *testing.T) {
	var out bytes.Buffer
	s := open(t.Context(), &out)
	for line := range 5 {
		_, err := fmt.Fprintf(s, "\nline %d\n", line)
		require.NoError(t, err)
	}
	_, err := fmt.Fprintln(s, strings.Repeat("word ", 10))
	require.NoError(t, err)
	s.close()

	text := ansi.Strip(out.String())
	assert.Contains(t, text, "width 40\nthe end", "there is no picture")
	last := 0 // where the picture is does not follow from the order: its place is given by moves of the cursor
	for _, want := range []string{"line 0", "line 1", "line 2", "line 3", "line 4", "word word\r\n"} {
		at := strings.LastIndex(text, want)
		require.GreaterOrEqual(t, at, last, "%s is missing, or in the wrong place: %q", want, text)
		last = at
	}
	cursorIsBack(t, out.String())
	assert.NotContains(t, out.String(), ansi.RequestModeSynchronizedOutput, "the terminal's answer would appear behind the prompt")
}

// After Ctrl-C, the story still says a word or two while it ends.
func TestAScreenThatHasEndedBlocksNobody(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var out bytes.Buffer
	s := open(ctx, &out)
	_, _ = fmt.Fprintln(s, "before")
	cancel()
	<-s.done
	_, err := fmt.Fprintln(s, "after")
	require.NoError(t, err)
	s.close()
	s.close()
	cursorIsBack(t, out.String())
}

func TestAfterAResizeThePictureFitsAgain(t *testing.T) {
	var m tea.Model = model{lines: wide}
	assert.Equal(t, "\n", m.View().Content, "nothing is drawn before the size is known")
	for _, test := range []struct {
		width, height int
		want          string
	}{{80, 24, "\nwidth 80\nthe end\n"}, {20, 24, "\nwidth 20\nthe end\n"}, {20, 3, "\nwidth 20\n"}, {20, 1, "\n"}} {
		m, _ = m.Update(tea.WindowSizeMsg{Width: test.width, Height: test.height})
		assert.Equal(t, test.want, m.View().Content)
	}
}

func TestAPipeIsNoTerminal(t *testing.T) {
	read, write, err := os.Pipe()
	require.NoError(t, err)
	defer func() { _, _ = read.Close(), write.Close() }()
	for _, out := range []io.Writer{write, &bytes.Buffer{}} {
		_, live := liveTerminal(out)
		assert.False(t, live)
	}
}
