package main

import (
	"context"
	"io"
	"os"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"
)

// screen keeps a picture at the bottom of a terminal, and lets the story scroll above it.
//
// It reads no keys and leaves the terminal's mode alone. So Ctrl-C is a signal as ever, and there is nothing to restore
// after a crash but a hidden cursor.
type screen struct {
	program *tea.Program
	done    chan struct{} // closed when the program has ended
	width   func() int
}

// liveTerminal returns the terminal that out is, if pictures can be drawn on it.
func liveTerminal(out io.Writer) (*os.File, bool) {
	file, ok := out.(*os.File)
	return file, ok && term.IsTerminal(int(file.Fd())) && os.Getenv("TERM") != "dumb"
}

// openScreen shows lines until the screen is closed or ctx ends. The options are for tests.
func openScreen(ctx context.Context, out io.Writer, width func() int, lines func(width int, color bool) []string, options ...tea.ProgramOption) *screen {
	m := model{lines: lines, color: os.Getenv("NO_COLOR") == ""}
	options = append([]tea.ProgramOption{tea.WithContext(ctx), tea.WithOutput(out), tea.WithInput(nil), tea.WithoutSignalHandler()}, options...)
	s := &screen{program: tea.NewProgram(m, options...), done: make(chan struct{}), width: width}
	go func() {
		defer close(s.done)
		_, _ = s.program.Run() // an error means that ctx has ended, or that the terminal is gone; the story goes on
	}()
	return s
}

// Write implements io.Writer: the text appears above the picture. It is lost if the screen has ended.
func (s *screen) Write(text []byte) (int, error) {
	if len(text) > 0 {
		// A line that the terminal would wrap is one of which the program does not know how high it is.
		wrapped := ansi.Wrap(strings.TrimSuffix(string(text), "\n"), max(s.width(), 20), "")
		s.program.Send(tea.Println(wrapped)()) // as Program.Println does, which blocks if the program has ended
	}
	return len(text), nil
}

// close leaves the last picture where it is, and waits until the terminal is as it was.
func (s *screen) close() {
	s.program.Quit()
	<-s.done
}

// refresh is how often the picture is drawn, if it has changed.
const refresh = 100 * time.Millisecond

type tick struct{}

// model is what the terminal library draws: it asks for the lines of the moment.
type model struct {
	lines         func(width int, color bool) []string
	width, height int
	color         bool
}

func later() tea.Cmd { return tea.Tick(refresh, func(time.Time) tea.Msg { return tick{} }) }

// Init implements tea.Model.
func (m model) Init() tea.Cmd { return later() }

// Update implements tea.Model.
func (m model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tick:
		return m, later()
	}
	return m, nil
}

// View implements tea.Model. A terminal that is too low shows the beginning.
func (m model) View() tea.View {
	lines := []string{""}
	if m.width > 0 { // it is known a moment after the start
		lines = append(lines, m.lines(m.width, m.color)...)
	}
	lines = lines[:min(len(lines), max(m.height-1, 1))]
	view := tea.NewView(strings.Join(lines, "\n") + "\n") // the last line is erased at the end
	view.DisableBracketedPasteMode = true
	return view
}
