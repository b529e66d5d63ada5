package shards

import (
	"fmt"
	"strings"
)

// Table is a Markdown table of rows.
func Table(rows []Row) string {
	var b strings.Builder
	b.WriteString("| gate | replicas | peak memory | steady memory | processor time | from the API server | " +
		"for changes | all reconciled | reconciles a second | takeover |\n" +
		"|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, r := range rows {
		gate, takeover := "off", "-"
		if r.Gate {
			gate = "on"
		}
		if r.Takeover > 0 {
			takeover = fmt.Sprintf("%.1f s", r.Takeover.Seconds())
		}
		fmt.Fprintf(&b, "| %s | %d | %s | %s | %.1f s | %s | %s | %.1f s | %.0f | %s |\n", gate, r.Replicas,
			megabytes(r.Peak), megabytes(r.Steady), r.CPU.Seconds(), megabytes(r.Received), megabytes(r.OfChanges),
			r.Everything.Seconds(), r.PerSecond, takeover)
	}
	return b.String()
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

// The table stands between these two lines of a page.
const beginning, end = "<!-- bench-shards -->", "<!-- /bench-shards -->"

// Replace puts a text into a page, in the place of what make bench-shards wrote there before.
func Replace(page, text string) (string, error) {
	before, rest, found := strings.Cut(page, beginning)
	_, after, ends := strings.Cut(rest, end)
	if !found || !ends {
		return "", fmt.Errorf("the page lacks the lines %s and %s", beginning, end)
	}
	return before + beginning + "\n" + text + "\n" + end + after, nil
}
