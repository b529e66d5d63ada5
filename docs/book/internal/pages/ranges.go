package pages

import (
	"cmp"
	"fmt"
	"html"
	"slices"
	"strings"
)

// lineRange is a part of a file that a text shows, or to which it has a link.
type lineRange struct{ first, last int }

func (r lineRange) id() string {
	if r.first == r.last {
		return fmt.Sprintf("L%d", r.first)
	}
	return fmt.Sprintf("L%d-L%d", r.first, r.last)
}

// quote is a place in a text that shows a range.
type quote struct {
	page *page
	id   string
}

// ranges are those of each file, with the texts that show them.
type ranges map[string]map[lineRange][]quote

func (r ranges) add(file string, lines lineRange, by ...quote) {
	if r[file] == nil {
		r[file] = map[lineRange][]quote{}
	}
	r[file][lines] = append(r[file][lines], by...) // without any, too: a link needs the anchor
}

// anchors are the elements that lie behind the lines of the ranges that begin at a line. The style sheet colors the one that
// the address names; so a page of code needs no script for it.
func (r ranges) anchors(file string, line int) string {
	var here []lineRange
	for lines := range r[file] {
		if lines.first == line {
			here = append(here, lines)
		}
	}
	slices.SortFunc(here, func(a, b lineRange) int { return cmp.Compare(a.last, b.last) })
	var out strings.Builder
	var pages []*page // each is named once
	var links []string
	for _, lines := range here {
		if lines.first != lines.last {
			fmt.Fprintf(&out, `<span class="range" id="%s" style="--lines:%d"></span>`, lines.id(), lines.last-lines.first+1)
		}
		for _, q := range r[file][lines] {
			if !slices.Contains(pages, q.page) {
				pages = append(pages, q.page)
				href := relative(sourcePage(file), q.page.out) + "#" + q.id
				links = append(links, fmt.Sprintf(`<a href="%s">%s</a>`, html.EscapeString(href), html.EscapeString(q.page.name())))
			}
		}
	}
	if len(links) > 0 {
		fmt.Fprintf(&out, `<span class="quoted">quoted in %s</span>`, strings.Join(links, ", "))
	}
	return out.String()
}
