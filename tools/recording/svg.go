package main

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// The size of a character, and the margin, in pixels.
const (
	cellWidth  = 8.4
	cellHeight = 19
	margin     = 14
)

// style has both colour schemes. The colours are GitHub's.
const style = `
svg{color-scheme:light dark;--back:#f6f8fa;--edge:#d1d9e0;--text:#1f2328;--c1:#cf222e;--c2:#116329;--c3:#9a6700;--c4:#0969da;--c5:#8250df;--c6:#1b7c83}
@media (prefers-color-scheme:dark){svg{--back:#151b23;--edge:#3d444d;--text:#e6edf3;--c1:#ff7b72;--c2:#3fb950;--c3:#d29922;--c4:#58a6ff;--c5:#bc8cff;--c6:#39c5cf}}
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono","Liberation Mono",monospace;fill:var(--text);white-space:pre}
.w{fill:var(--back);stroke:var(--edge)}.cur{fill:var(--text);opacity:.6}.b{font-weight:600}
.c1{fill:var(--c1)}.c2{fill:var(--c2)}.c3{fill:var(--c3)}.c4{fill:var(--c4)}.c5{fill:var(--c5)}.c6{fill:var(--c6)}
.s{visibility:hidden}.last{visibility:visible}
`

// SVG is a film as an animated picture that needs no script: each line and each place of the cursor is there from the
// beginning, and CSS shows it in its time. Whoever wants no motion, or has no CSS, sees the last frame.
func (f *film) SVG(title, description string) string {
	lines, all := f.still()
	byInterval := map[interval][]shown{}
	for _, s := range all {
		byInterval[s.interval] = append(byInterval[s.interval], s)
	}
	intervals := slices.SortedFunc(maps.Keys(byInterval), func(a, b interval) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
	})

	width, height := float64(f.width)*cellWidth+2*margin, f.height*cellHeight+2*margin
	var out strings.Builder
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%d" viewBox="0 0 %.0f %d" role="img" aria-labelledby="t d" xml:space="preserve">`+"\n", width, height, width, height)
	fmt.Fprintf(&out, "<title id=\"t\">%s</title><desc id=\"d\">%s</desc>\n<style>%s", escaped(title), escaped(description), style)
	f.animations(&out, intervals)
	fmt.Fprintf(&out, "</style>\n<rect class=\"w\" x=\".5\" y=\".5\" width=\"%.0f\" height=\"%d\" rx=\"8\"/>\n<defs>\n", width-1, height-1)
	for i, l := range lines {
		fmt.Fprintf(&out, `<text id="l%d" x="%d" textLength="%s">%s</text>`+"\n", i, margin, pixels(l.width()), l.svg())
	}
	out.WriteString("</defs>\n")
	for i, at := range intervals {
		last := ""
		if at.to == f.end {
			last = " last"
		}
		fmt.Fprintf(&out, `<g class="s k%d%s">`, i, last)
		for _, s := range byInterval[at] {
			if s.line < 0 {
				fmt.Fprintf(&out, `<rect class="cur" x="%s" y="%d" width="%.1f" height="%d"/>`, offset(s.x), margin+s.row*cellHeight, cellWidth, cellHeight-2)
			} else {
				fmt.Fprintf(&out, `<use href="#l%d" y="%d"/>`, s.line, margin+s.row*cellHeight+14)
			}
		}
		out.WriteString("</g>\n")
	}
	out.WriteString("</svg>\n")
	return out.String()
}

// animations has one animation for each interval. step-end keeps a value until the next one is due.
func (f *film) animations(out *strings.Builder, intervals []interval) {
	fmt.Fprintf(out, "@media (prefers-reduced-motion:no-preference){.s{animation:%.2fs step-end infinite}\n", f.end.Seconds())
	for i := range intervals {
		fmt.Fprintf(out, ".k%d{animation-name:k%d}", i, i)
	}
	out.WriteString("}\n")
	for i, at := range intervals {
		fmt.Fprintf(out, "@keyframes k%d{", i)
		if at.from > 0 {
			out.WriteString("0%{visibility:hidden}")
		}
		fmt.Fprintf(out, "%s{visibility:visible}", f.percent(at.from))
		if at.to < f.end {
			fmt.Fprintf(out, "%s{visibility:hidden}", f.percent(at.to))
		}
		out.WriteString("to{visibility:" + map[bool]string{true: "visible", false: "hidden"}[at.to == f.end] + "}}\n")
	}
}

func (f *film) percent(at interface{ Seconds() float64 }) string {
	return trimmed(fmt.Sprintf("%.3f", 100*at.Seconds()/f.end.Seconds())) + "%"
}

func (l line) width() (characters int) {
	for _, s := range l {
		characters += utf8.RuneCountInString(s.text)
	}
	return characters
}

func (l line) svg() string {
	var out strings.Builder
	for _, s := range l {
		if s.class == "" {
			out.WriteString(escaped(s.text))
		} else {
			fmt.Fprintf(&out, `<tspan class="%s">%s</tspan>`, s.class, escaped(s.text))
		}
	}
	return out.String()
}

func pixels(characters int) string {
	return trimmed(fmt.Sprintf("%.1f", float64(characters)*cellWidth))
}

func offset(x int) string { return trimmed(fmt.Sprintf("%.1f", margin+float64(x)*cellWidth)) }

func trimmed(number string) string { return strings.TrimRight(strings.TrimRight(number, "0"), ".") }

func escaped(text string) string {
	var out strings.Builder
	if err := xml.EscapeText(&out, []byte(text)); err != nil {
		panic(err) // a strings.Builder takes everything
	}
	return strings.NewReplacer("&#34;", `"`, "&#39;", "'").Replace(out.String())
}
