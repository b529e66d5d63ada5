package main

import (
	"fmt"

	"github.com/hinshun/vt10x"
)

// screen is what a terminal makes of the bytes that programs write.
type screen struct{ terminal vt10x.Terminal }

func newScreen(width, height int) *screen {
	return &screen{vt10x.New(vt10x.WithSize(width, height))}
}

func (s *screen) write(output []byte) {
	_, _ = s.terminal.Write(output) // it stores the bytes, and cannot fail
}

// bold is the emulator's mode for it, which it does not export.
const bold = 1 << 2

// look returns the lines, up to the last one that has text, and where the cursor is.
func (s *screen) look() (lines []line, cursor position) {
	s.terminal.Lock()
	defer s.terminal.Unlock()
	width, height := s.terminal.Size()
	for y := range height {
		var l line
		blanks := "" // which are part of the line if something comes after them
		for x := range width {
			cell := s.terminal.Cell(x, y)
			if cell.Char == ' ' || cell.Char == 0 {
				blanks += " "
				continue
			}
			class, text := classOf(cell), string(cell.Char)
			if n := len(l); n > 0 && l[n-1].class == class {
				text = blanks + text
			} else if blanks != "" {
				l = l.with(blanks, "")
			}
			l = l.with(text, class)
			blanks = ""
		}
		lines = append(lines, l)
	}
	for len(lines) > 0 && lines[len(lines)-1] == nil {
		lines = lines[:len(lines)-1]
	}
	at := s.terminal.Cursor()
	return lines, position{at.X, at.Y}
}

// with adds text, to the last piece if that has the same style.
func (l line) with(text, class string) line {
	if n := len(l); n > 0 && l[n-1].class == class {
		l[n-1].text += text
		return l
	}
	return append(l, span{text, class})
}

// classOf is the CSS class of a character: its colour, one of eight, or that it is bold.
func classOf(cell vt10x.Glyph) string {
	switch {
	case cell.FG != vt10x.DefaultFG && cell.FG < 16 && cell.FG%8 != 0 && cell.FG%8 != 7:
		return fmt.Sprintf("c%d", cell.FG%8)
	case cell.Mode&bold != 0:
		return "b"
	default:
		return ""
	}
}
