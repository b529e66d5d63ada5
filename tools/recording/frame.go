package main

import (
	"slices"
	"time"
)

// span is a piece of a line in one style. The class is CSS: "b" is bold, "c1" to "c15" are the terminal's colours.
type span struct{ text, class string }

// line is one row of the screen, without the blanks at its end.
type line []span

// frame is the screen at one moment of the film.
type frame struct {
	at     time.Duration
	lines  []line
	cursor position
}

type position struct{ x, y int }

// film is what was recorded: frames in the order of their time, and the moment when it begins again.
type film struct {
	width, height int // in characters
	frames        []frame
	end           time.Duration
}

// shortest is how long a frame must be seen. Output arrives in pieces, and nobody sees these.
const shortest = 30 * time.Millisecond

// add appends a frame, and drops the one before if there is no time to see it.
func (f *film) add(next frame) {
	if n := len(f.frames); n > 0 && next.at-f.frames[n-1].at < shortest {
		next.at = f.frames[n-1].at
		f.frames = f.frames[:n-1]
	}
	f.frames = append(f.frames, next)
	f.end = max(f.end, next.at)
}

// interval is a part of the film, from one frame to another.
type interval struct{ from, to time.Duration }

// shown is what stands still on the screen for an interval.
type shown struct {
	interval
	row  int
	line int // its number in lines; -1 is the cursor
	x    int // of the cursor
}

// still splits a film into what stands still: each line as long as it stays in its row. Lines with the same content
// are kept once.
func (f *film) still() (lines []line, all []shown) {
	number := func(l line) int {
		if i := slices.IndexFunc(lines, func(known line) bool { return slices.Equal(known, l) }); i >= 0 {
			return i
		}
		lines = append(lines, l)
		return len(lines) - 1
	}
	for row := range f.height {
		all = append(all, f.runs(row, func(at frame) int {
			if row >= len(at.lines) || len(at.lines[row]) == 0 {
				return -1
			}
			return number(at.lines[row])
		})...)
	}
	for i := 0; i < len(f.frames); {
		end := i + 1
		for end < len(f.frames) && f.frames[end].cursor == f.frames[i].cursor {
			end++
		}
		at := f.frames[i].cursor
		all = append(all, shown{interval: f.between(i, end), row: at.y, line: -1, x: at.x})
		i = end
	}
	return lines, all
}

// runs are the intervals in which a row has the same line.
func (f *film) runs(row int, lineAt func(frame) int) (found []shown) {
	for i := 0; i < len(f.frames); {
		content, end := lineAt(f.frames[i]), i+1
		for end < len(f.frames) && lineAt(f.frames[end]) == content {
			end++
		}
		if content >= 0 {
			found = append(found, shown{interval: f.between(i, end), row: row, line: content})
		}
		i = end
	}
	return found
}

// between is the time from frame i until frame end begins, which may be the end of the film.
func (f *film) between(i, end int) interval {
	if end == len(f.frames) {
		return interval{f.frames[i].at, f.end}
	}
	return interval{f.frames[i].at, f.frames[end].at}
}
