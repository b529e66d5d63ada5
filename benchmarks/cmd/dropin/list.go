package main

import (
	"bytes"
	"fmt"
	"go/token"
	"os"
	"strings"

	"github.com/loopwright/loopwright/benchmarks/internal/api"
)

// The list in docs/porting.md is between these lines.
const (
	listBegin = "<!-- `make api` writes this list. -->\n"
	listEnd   = "<!-- The end of the list. -->\n"
)

// list is docs/porting.md with the names that the drop-in lacks.
func (m *module) list(file string) (api.Written, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return api.Written{}, err
	}
	before, rest, ok := bytes.Cut(text, []byte(listBegin))
	_, after, closed := bytes.Cut(rest, []byte(listEnd))
	if !ok || !closed {
		return api.Written{}, fmt.Errorf("%s has no place for the list of missing names: the lines %q and %q", file, listBegin, listEnd)
	}
	var out bytes.Buffer
	out.Write(before)
	out.WriteString(listBegin)
	m.writeList(&out)
	out.WriteString(listEnd)
	out.Write(after)
	return api.Written{File: "docs/porting.md", Text: out.Bytes()}, nil
}

// writeList writes a table: a row for each package and reason.
func (m *module) writeList(to *bytes.Buffer) {
	names, rows := 0, ""
	for _, importPath := range m.theirs {
		p := m.packages[importPath]
		for _, name := range p.theirs.Scope().Names() {
			if token.IsExported(name) {
				names++
			}
		}
		names -= len(p.lacks)
		for i := 0; i < len(p.lacks); {
			why, missing := m.reasons.why(p.name(), p.lacks[i].name), []string{}
			for ; i < len(p.lacks) && m.reasons.why(p.name(), p.lacks[i].name) == why; i++ {
				missing = append(missing, "`"+p.lacks[i].name+"`")
			}
			rows += fmt.Sprintf("| %s | %s | %s |\n", p.name(), strings.Join(missing, ", "), why)
		}
	}
	if rows == "" {
		fmt.Fprintf(to, "\nIt has all %d names of controller-runtime %s.\n\n", names, m.version)
		return
	}
	fmt.Fprintf(to, "\nOf controller-runtime %s it has %d names. These are missing:\n\n| package | names | why |\n|---|---|---|\n%s\n",
		m.version, names, rows)
}
