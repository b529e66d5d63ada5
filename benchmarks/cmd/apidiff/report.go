package main

import (
	"fmt"
	"io"
	"strings"
)

const introduction = `# The API beside controller-runtime's

` + "`make api`" + ` writes this report, and ` + "`make check`" + ` checks it. It compares with go/types what the
packages of %s export with what ours export, once
` + "`sigs.k8s.io/controller-runtime/pkg/X`" + ` has become
` + "`github.com/loopwright/loopwright/manager/X`" + `. Your imports of client-go can stay: where its types
meet a controller, they're the same here. A test compiles the programs in ` + "`benchmarks/users`" + ` both ways, and on the
drop-in.

A name is *present* if its signature, fields, methods or value are the same. A struct may have
more fields and methods here, listed under "only here". An interface may not, because
your type might then no longer implement it.

`

func writeReport(to io.Writer, original string, r *result) {
	fmt.Fprintf(to, introduction, original)
	fmt.Fprintln(to, "| package | present | differ | missing | to come | only here |\n|---|--:|--:|--:|--:|--:|")
	for _, p := range r.packages {
		later := "0"
		if len(p.coming) > 0 {
			later = fmt.Sprintf("%d (chapter %d)", len(p.coming), p.chapter)
		}
		name := p.name
		if hasSection(p) {
			name = fmt.Sprintf("[%s](#%s)", p.name, strings.ReplaceAll(p.name, "/", ""))
		}
		fmt.Fprintf(to, "| %s | %d | %d | %d | %s | %d |\n", name, p.present, len(p.differ), len(p.missing), later, len(p.added))
	}
	fmt.Fprintln(to, "\nAnd of client-go, the types that occur in these signatures, and the other names that both have:")
	fmt.Fprintln(to, "\n| package | here | present | differ | missing |\n|---|---|--:|--:|--:|")
	for _, p := range r.borrowed {
		fmt.Fprintf(to, "| %s | %s | %d | %d | %d |\n", p.name, lastOf(p.ours), p.present, len(p.differ), len(p.missing))
	}
	for _, p := range append(r.packages, r.borrowed...) {
		writePackage(to, p)
	}
	if len(r.absent) > 0 {
		fmt.Fprintln(to, "\n## Packages that are not here\n\n| package | |\n|---|---|")
		for _, p := range r.absent {
			if p.Chapter > 0 {
				fmt.Fprintf(to, "| %s | planned for chapter %d |\n", p.Package, p.Chapter)
			} else {
				fmt.Fprintf(to, "| %s | not planned: %s |\n", p.Package, p.Why)
			}
		}
	}
	if len(r.added) > 0 {
		fmt.Fprintf(to, "\n## Packages that are only here\n\n%s\n", quoted(r.added))
	}
}

func quoted(names []string) string { return "`" + strings.Join(names, "`, `") + "`" }

func lastOf(importPath string) string { return importPath[strings.LastIndex(importPath, "/")+1:] }

// hasSection reports whether there is anything to say about a package.
func hasSection(p *packageResult) bool {
	return len(p.differ)+len(p.missing)+len(p.coming)+len(p.added)+len(p.unrelated) > 0
}

func writePackage(to io.Writer, p *packageResult) {
	if !hasSection(p) {
		return
	}
	fmt.Fprintf(to, "\n## %s\n", p.name)
	if len(p.differ) > 0 {
		fmt.Fprint(to, "\nDiffer:\n\n")
	}
	for _, f := range p.differ {
		for i := 0; i < len(f.how); {
			first, names := f.how[i], []string{}
			for ; i < len(f.how) && f.how[i].text == first.text && f.how[i].why == first.why; i++ {
				names = append(names, difference{member: f.how[i].member}.named(f.name))
			}
			fmt.Fprintf(to, "- %s: %s.", quoted(names), first.text)
			if i == len(f.how) || f.how[i].why != first.why { // the next line may have the same reason
				fmt.Fprint(to, " "+reasonText(first.why))
			}
			fmt.Fprintln(to)
		}
	}
	if len(p.missing) > 0 {
		fmt.Fprint(to, "\nMissing:\n\n")
	}
	for i := 0; i < len(p.missing); {
		why, names := p.missing[i].how[0].why, []string{}
		for ; i < len(p.missing) && p.missing[i].how[0].why == why; i++ {
			names = append(names, p.missing[i].name)
		}
		fmt.Fprintf(to, "- %s: %s\n", quoted(names), reasonText(why))
	}
	if len(p.unrelated) > 0 {
		fmt.Fprintf(to, "\nSomething else under the same name: %s\n", quoted(p.unrelated))
	}
	if len(p.coming) > 0 {
		fmt.Fprintf(to, "\nTo come with chapter %d: %s\n", p.chapter, quoted(p.coming))
	}
	if len(p.added) > 0 {
		fmt.Fprintf(to, "\nOnly here: %s\n", quoted(p.added))
	}
}

func reasonText(why string) string {
	if why == "" {
		return "**Nobody has said why.**"
	}
	return strings.TrimSpace(strings.ReplaceAll(why, "\n", " "))
}
