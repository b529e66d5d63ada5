package picture

import (
	"image/color"
	"strings"

	"charm.land/lipgloss/v2"
)

// shade is how Pods in one state look. The characters differ, so that a terminal without colours shows as much.
type shade struct {
	cell, means string
	color       color.Color
}

var (
	available = shade{"█", "available", lipgloss.Green}
	ready     = shade{"▓", "ready", lipgloss.Cyan}
	notReady  = shade{"▒", "not ready", lipgloss.Yellow}
	missing   = shade{"░", "missing", lipgloss.BrightBlack}
)

// legend explains the bars.
var legend = []shade{available, ready, notReady, missing}

// segment is a part of a bar: from where the one before ends up to so many Pods.
type segment struct {
	upTo int32
	shade
}

// bar draws segments side by side. One cell is one Pod, unless scale, the number of Pods in the longest bar, exceeds
// the width: then that one fills it, and any number above zero has at least one cell.
func bar(width int, scale int32, paint func(shade, string) string, segments ...segment) string {
	cells := func(pods int32) int {
		if int(scale) <= width {
			return int(pods)
		}
		return (int(pods)*width + int(scale) - 1) / int(scale)
	}
	var b strings.Builder
	end := 0
	for _, s := range segments {
		if to := min(cells(s.upTo), width); to > end {
			b.WriteString(paint(s.shade, strings.Repeat(s.cell, to-end)))
			end = to
		}
	}
	b.WriteString(strings.Repeat(" ", width-end))
	return b.String()
}

// segments of a ReplicaSet's bar.
func (s Set) segments() []segment {
	return []segment{{s.Available, available}, {s.Ready, ready}, {s.Pods, notReady}, {s.Wanted, missing}}
}
