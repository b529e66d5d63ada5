package epub

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/net/html"
)

// theme has the colors that diagrams have in the book by day. Many e-readers know no variables, so they're put in.
var theme = map[string]string{
	"--diagram-bg": "#ffffff", "--diagram-text": "#24292f", "--diagram-line": "#6b7785", "--diagram-box": "#eaf1fb", "--diagram-border": "#9ab5d8",
}

var (
	declared = regexp.MustCompile(`(--[\w-]+)\s*:\s*([^;]+)`)
	mixed    = regexp.MustCompile(`color-mix\(in srgb, (#[0-9a-f]{6}) (\d+)%, (#[0-9a-f]{6})\)`)
)

// colors replaces the variables in a diagram by what its style says they are.
func colors(svg *html.Node) {
	variables := map[string]string{}
	for _, d := range declared.FindAllStringSubmatch(attribute(svg, "style"), -1) {
		variables[d[1]] = strings.TrimSpace(d[2])
	}
	for n := range svg.Descendants() {
		for i, a := range n.Attr {
			if strings.Contains(a.Val, "var(") {
				n.Attr[i].Val = resolve(a.Val, variables, 0)
			}
		}
	}
	for i, a := range svg.Attr {
		if a.Key == "style" {
			svg.Attr[i].Val = "max-width: 100%; background: " + theme["--diagram-bg"]
		}
	}
}

// deepest is how many variables may stand for each other in a row.
const deepest = 10

// resolve replaces each var(--name, otherwise) in a value.
func resolve(value string, variables map[string]string, depth int) string {
	if depth > deepest {
		return "none"
	}
	for {
		begin := strings.Index(value, "var(")
		if begin < 0 {
			break
		}
		end := closing(value, begin+len("var("))
		name, otherwise, _ := strings.Cut(value[begin+len("var("):end], ",")
		is, known := theme[name]
		if !known {
			is, known = variables[name]
		}
		if !known {
			is = strings.TrimSpace(otherwise)
		}
		value = value[:begin] + resolve(is, variables, depth+1) + value[min(end+1, len(value)):]
	}
	return mixed.ReplaceAllStringFunc(value, func(text string) string {
		m := mixed.FindStringSubmatch(text)
		part, _ := strconv.Atoi(m[2]) // digits
		return mix(m[1], m[3], part)
	})
}

// closing is where the parenthesis before begin is closed, or the end of the value.
func closing(value string, begin int) int {
	open := 1
	for i, c := range value[begin:] {
		switch c {
		case '(':
			open++
		case ')':
			if open--; open == 0 {
				return begin + i
			}
		}
	}
	return len(value)
}

// mix is this percentage of one color, and the rest of the other.
func mix(one, other string, percent int) string {
	mixture := "#"
	for i := 1; i < 7; i += 2 {
		a, _ := strconv.ParseInt(one[i:i+2], 16, 32) // six hexadecimal digits, or it wouldn't have matched
		b, _ := strconv.ParseInt(other[i:i+2], 16, 32)
		mixture += fmt.Sprintf("%02x", (int(a)*percent+int(b)*(100-percent)+50)/100)
	}
	return mixture
}
