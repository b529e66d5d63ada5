package kubectl

import (
	"io"
	"strings"
	"unicode/utf8"
)

// table prints rows in columns. It remembers how wide they were, so that the rows that a watch
// adds later stand below those of the list.
type table struct{ widths []int }

// A column is at least this wide, and has this much space after it; kubectl does the same.
const (
	narrowest = 6
	space     = 3
)

func (t *table) print(out io.Writer, rows [][]string) error {
	for _, row := range rows {
		for i, cell := range row {
			if i == len(t.widths) {
				t.widths = append(t.widths, narrowest)
			}
			t.widths[i] = max(t.widths[i], utf8.RuneCountInString(cell)+space)
		}
	}
	var text strings.Builder
	for _, row := range rows {
		for i, cell := range row {
			text.WriteString(cell)
			if i < len(row)-1 {
				text.WriteString(strings.Repeat(" ", t.widths[i]-utf8.RuneCountInString(cell)))
			}
		}
		text.WriteString("\n")
	}
	_, err := io.WriteString(out, text.String())
	return err
}
