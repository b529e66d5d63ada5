package main

import (
	"encoding/xml"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
)

// words is a line in one style.
func words(text string) line { return line{{text: text}} }

// short is a film of a second: a command is typed, its output comes, and all of it moves up by a line.
func short() *film {
	f := &film{width: 20, height: 3}
	prompt := line{{text: "$", class: "c2"}, {text: " a"}}
	f.add(frame{at: 0, lines: []line{prompt}, cursor: position{3, 0}})
	f.add(frame{at: 500 * time.Millisecond, lines: []line{prompt, words("1 < 2")}, cursor: position{0, 2}})
	f.add(frame{at: 510 * time.Millisecond, lines: []line{prompt, words("1 < 2 & 3"), {}}, cursor: position{0, 2}})
	f.add(frame{at: 750 * time.Millisecond, lines: []line{words("1 < 2 & 3"), words("done"), prompt}, cursor: position{3, 2}})
	f.end = time.Second
	return f
}

func TestAFilmIsAPictureInWhichEachLineHasItsTime(t *testing.T) {
	svg := short().SVG("A film", "Of a <second>.")
	for _, want := range []string{
		`<title id="t">A film</title><desc id="d">Of a &lt;second&gt;.</desc>`,
		`width="196" height="85"`,
		".s{animation:1.00s step-end infinite}",
		// The prompt stays in its row until all moves up.
		"@keyframes k0{0%{visibility:visible}50%{visibility:hidden}to{visibility:hidden}}",
		"@keyframes k1{0%{visibility:visible}75%{visibility:hidden}to{visibility:hidden}}",
		"@keyframes k2{0%{visibility:hidden}50%{visibility:visible}75%{visibility:hidden}to{visibility:hidden}}",
		"@keyframes k3{0%{visibility:hidden}75%{visibility:visible}to{visibility:visible}}",
		`<text id="l0" x="14" textLength="25.2"><tspan class="c2">$</tspan> a</text>`,
		`<text id="l1" x="14" textLength="75.6">1 &lt; 2 &amp; 3</text>`,
		`<g class="s k1"><use href="#l0" y="28"/></g>`,
		`<g class="s k3 last"><use href="#l1" y="28"/><use href="#l2" y="47"/><use href="#l0" y="66"/><rect class="cur" x="39.2" y="52" `,
	} {
		if !strings.Contains(svg, want) {
			t.Errorf("the picture lacks %s:\n%s", want, svg)
		}
	}
	if strings.Contains(svg, ">1 &lt; 2</text>") {
		t.Error("a line is kept that nobody has time to see")
	}
	wellFormed(t, svg)
}

func wellFormed(t *testing.T, svg string) {
	t.Helper()
	for decoder := xml.NewDecoder(strings.NewReader(svg)); ; {
		if _, err := decoder.Token(); err == io.EOF {
			return
		} else if err != nil {
			t.Fatalf("no browser shows a picture that is not well-formed: %v", err)
		}
	}
}

func TestTheScreenHasColoursAndForgetsWhatScrolledAway(t *testing.T) {
	s := newScreen(20, 2)
	s.write([]byte("gone\r\n\x1b[32m$\x1b[0m a \x1b[1mb\x1b[0m  \r\n" + promptMark + "< é"))
	lines, cursor := s.look()
	want := []line{{{"$", "c2"}, {" a ", ""}, {"b", "b"}}, {{"< é", ""}}}
	if len(lines) != 2 || !equal(lines[0], want[0]) || !equal(lines[1], want[1]) {
		t.Errorf("got %q, want %q", lines, want)
	}
	if cursor != (position{3, 1}) {
		t.Errorf("the cursor is at %v", cursor)
	}
}

func equal(a, b line) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// A viewer who has to wait for a compiler goes away.
func TestASessionIsFilmedWithoutItsWaits(t *testing.T) {
	if _, terminal, err := pty.Open(); err != nil {
		t.Skipf("there is no pseudo-terminal: %v", err)
	} else {
		terminal.Close()
	}
	dir := t.TempDir()
	f, err := record(t.Context(), dir, []string{"WORD=shown"}, 40, 5, []step{
		{command: "cat file", before: func() error { return os.WriteFile(dir+"/file", []byte("saved\n"), 0o644) }, read: time.Second},
		{command: "sleep 1; echo $WORD", read: 2 * time.Second},
	})
	if err != nil {
		t.Fatal(err)
	}
	last := f.frames[len(f.frames)-1]
	var text []string
	for _, l := range last.lines {
		var all strings.Builder
		for _, s := range l {
			all.WriteString(s.text)
		}
		text = append(text, all.String())
	}
	want := "$ cat file\nsaved\n$ sleep 1; echo $WORD\nshown\n$"
	if got := strings.Join(text, "\n"); got != want {
		t.Errorf("the terminal showed\n%s\nand not\n%s", got, want)
	}
	for i, at := range f.frames {
		if len(at.lines) > 3 && len(f.frames[i-1].lines) == 3 && at.at-f.frames[i-1].at > longestWait+2*shortest { // which joins pieces
			t.Errorf("the film shows nothing new for %s, while a command runs", at.at-f.frames[i-1].at)
		}
	}
	// 27 keys, two commands with their pauses, and 3 seconds to read.
	if least := 27*perKey + 6*beforeEnter + 3*time.Second; f.end < least {
		t.Errorf("the film is %s long: nobody can read that in less than %s", f.end, least)
	}
	if len(f.frames) < 27 {
		t.Errorf("%d frames do not show what is typed", len(f.frames))
	}
}

func TestAnAttemptIsTheSolutionButForItsMistake(t *testing.T) {
	attempt, err := withFunctionsOf([]byte("package p\n\nfunc (c C) F() int { return 1 }\n\n// G stays.\nfunc G() {}\n"), []byte("// Bug: two.\npackage p\n\nfunc (c C) F() int {\n\treturn 2\n}\n"))
	if want := "package p\n\nfunc (c C) F() int {\n\treturn 2\n}\n\n// G stays.\nfunc G() {}\n"; err != nil || string(attempt) != want {
		t.Errorf("got %q and %v", attempt, err)
	}
	if _, err := withFunctionsOf([]byte("package p\n"), []byte("package p\n\nfunc F() {}\n")); err == nil {
		t.Error("a mistake in a function that is not there would be none")
	}
}

// The README promises what this shows.
func TestTheRecordingIsOfTheExerciseAsItIsToday(t *testing.T) {
	recording, err := os.ReadFile("../../docs/first-exercise.svg")
	if err != nil {
		t.Fatal(err)
	}
	svg := string(recording)
	wellFormed(t, svg)
	if len(svg) > 60_000 {
		t.Errorf("it has %d bytes: a README should load at once", len(svg))
	}
	for _, want := range []string{"prefers-reduced-motion:no-preference", "prefers-color-scheme:dark", ">exercise 1: Resume a watch<", ">Solved: all its tests pass on " + mine + ".<"} {
		if !strings.Contains(svg, want) {
			t.Errorf("it lacks %q: `make recording` makes a new one", want)
		}
	}
	task, err := os.ReadFile("../../exercises/01-resume/README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, below, _ := strings.Cut(string(task), "# Resume a watch\n")
	below, _, _ = strings.Cut(below, "\n## Hint")
	for wanted := range strings.Lines(below) {
		wanted = strings.TrimRight(wanted, "\n")
		if wanted != "" && !strings.Contains(svg, ">"+escaped(wanted)+"<") {
			t.Fatalf("the task says %q, and the recording does not, or not in one line: `make recording` makes a new one", wanted)
		}
	}
}
