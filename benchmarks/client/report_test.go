package client

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/loopwright/loopwright/benchmarks/client/wire"
)

const introduction = `# The client beside controller-runtime's, call by call

` + "`UPDATE=1 go test ./client`" + ` in benchmarks/ makes each call with both clients on a real API server, and writes this
page. A row says what controller-runtime's client does. Ours does the same: the same method, path and query,
the same headers (Accept, Content-Type, User-Agent), the same body, the same objects afterwards, and the same
type of error. We don't compare UIDs, versions, times and generated names, nor the
requests for discovery.

`

// writeReport is a table for each group of calls.
func writeReport(rows []row) string {
	var b strings.Builder
	b.WriteString(introduction)
	same := 0
	for _, r := range rows {
		if r.why == "" {
			same++
		}
	}
	fmt.Fprintf(&b, "%d calls, of which %d are the same.\n", len(rows), same)
	group := ""
	for _, r := range rows {
		if r.call.Group != group {
			group = r.call.Group
			fmt.Fprintf(&b, "\n## %s\n\n| call | request | body as | result |\n|---|---|---|---|\n", group)
		}
		lines, types := requests(r.did)
		result := firstLine(r.did.Outcome)
		if r.why != "" {
			result += ". **Differs:** " + r.why + ". Here: " + firstLine(r.ours.Outcome)
			if our, _ := requests(r.ours); our != lines {
				result += ", and the request is " + cmp.Or(our, "none")
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", r.call.Name, lines, types, result)
	}
	return b.String()
}

// requests are the lines of requests, and the types of their bodies.
func requests(did wire.Did) (lines, types string) {
	var all, bodies []string
	for _, request := range did.Requests {
		all = append(all, "`"+request.Line+"`")
		for _, header := range request.Headers {
			if value, ok := strings.CutPrefix(header, "Content-Type: "); ok && request.Body != "" {
				bodies = append(bodies, shortType(value))
			}
		}
	}
	return strings.Join(all, "<br>"), strings.Join(bodies, "<br>")
}

func shortType(mime string) string {
	mime = strings.TrimPrefix(mime, "application/")
	return strings.TrimPrefix(mime, "vnd.kubernetes.")
}

// firstLine shortens what a server says; the whole of it is compared.
func firstLine(text string) string {
	text, _, _ = strings.Cut(text, "\n")
	if kind, _, ok := strings.Cut(text, ": "); ok {
		return kind
	}
	return text
}
