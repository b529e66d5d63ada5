package picture

import (
	"fmt"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

const (
	// maxSets is how many ReplicaSets have a bar of their own.
	maxSets = 4
	// barsFrom is the width from which there are bars, and wideFrom that from which ReplicaSets have their hashes.
	barsFrom, wideFrom = 48, 76
	maxBar             = 40
)

// row is a line with a bar.
type row struct {
	label, counts string
	bar           []segment
}

// Lines returns the picture for a terminal of this width. No line is wider. Without color, they have no control
// sequences; what colors mean can also be told from the characters.
func (p *Picture) Lines(width int, color bool) []string {
	width = max(width, 1)
	paint := func(s shade, text string) string {
		if !color {
			return text
		}
		return lipgloss.NewStyle().Foreground(s.color).Render(text)
	}
	f := p.Facts()
	lines := []string{p.headline(f, width)}
	lines = append(lines, draw(rows(f, width), scale(f), width, paint)...)
	if width >= barsFrom && len(f.Sets) > 0 {
		var key []string
		for _, s := range legend {
			key = append(key, paint(s, s.cell)+" "+s.means)
		}
		lines = append(lines, "  "+strings.Join(key, "  "))
	}
	if f.Stalled != "" {
		lines = append(lines, "  "+paint(notReady, "Not progressing: "+f.Stalled))
	}
	for _, e := range p.events {
		reason := e.reason
		if e.warning {
			reason = paint(notReady, reason)
		}
		lines = append(lines, fmt.Sprintf("  %s: %s", reason, strings.Join(strings.Fields(e.note), " ")))
	}
	for i, line := range lines {
		lines[i] = ansi.Truncate(line, width, "…")
	}
	return lines
}

// headline shortens the name rather than what is said about it.
func (p *Picture) headline(f Facts, width int) string {
	about := ": not there"
	if p.deployment != nil {
		about = fmt.Sprintf(": %d of %d ready, %d updated", f.Ready, f.Wanted, f.Updated)
	}
	return ansi.Truncate(p.name, max(width-len(about), 8), "…") + about
}

// rows are those of the ReplicaSets, the newest last, and of the Endpoints.
func rows(f Facts, width int) (all []row) {
	sets := f.Sets
	if more := len(sets) - maxSets; more > 0 {
		rest := Set{}
		for _, s := range sets[:more+1] {
			rest.Wanted, rest.Pods, rest.Ready, rest.Available = rest.Wanted+s.Wanted, rest.Pods+s.Pods, rest.Ready+s.Ready, rest.Available+s.Available
		}
		all = append(all, row{fmt.Sprintf("%d older", more+1), rest.counts(), rest.segments()})
		sets = sets[more+1:]
	}
	for _, s := range sets {
		all = append(all, row{s.label(width), s.counts(), s.segments()})
	}
	if f.HasEndpoints {
		counts := fmt.Sprintf("%d ready", f.Serving)
		if f.NotReady > 0 {
			counts += fmt.Sprintf(", %d not", f.NotReady)
		}
		all = append(all, row{"endpoints", counts, []segment{{int32(f.Serving), available}, {int32(f.Serving + f.NotReady), notReady}}})
	}
	return all
}

// label says which ReplicaSet it is, in as many words as there is space for.
func (s Set) label(width int) string {
	age := "old"
	if s.Newest {
		age = "new"
	}
	switch {
	case width < barsFrom:
		return fmt.Sprintf("%s, %d", age, s.Revision)
	case width < wideFrom || s.Hash == "":
		return fmt.Sprintf("%s, revision %d", age, s.Revision)
	}
	return fmt.Sprintf("%s, revision %d  %s", age, s.Revision, s.Hash)
}

// counts is what the numbers of a bar are. Pods that are there in excess are being deleted.
func (s Set) counts() string {
	if s.Pods > s.Wanted {
		return fmt.Sprintf("%d of %d ready, %d too many", s.Ready, s.Wanted, s.Pods-s.Wanted)
	}
	return fmt.Sprintf("%d of %d ready", s.Ready, s.Wanted)
}

// scale is the number of Pods that the longest bar stands for.
func scale(f Facts) int32 {
	longest := max(f.Wanted, int32(f.Serving+f.NotReady))
	for _, s := range f.Sets {
		longest = max(longest, s.Wanted, s.Pods)
	}
	return longest
}

// draw puts labels, bars and counts below each other. A narrow terminal has no bars.
func draw(rows []row, scale int32, width int, paint func(shade, string) string) (lines []string) {
	labels, counts := 0, 0
	for _, r := range rows {
		labels, counts = max(labels, ansi.StringWidth(r.label)), max(counts, len(r.counts))
	}
	space := min(width-2-labels-2-2-counts, maxBar)
	for _, r := range rows {
		line := fmt.Sprintf("  %-*s  ", labels, r.label)
		if width >= barsFrom && space >= 4 {
			line += bar(space, scale, paint, r.bar...) + "  "
		}
		lines = append(lines, line+r.counts)
	}
	return lines
}
