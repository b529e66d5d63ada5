package cluster

import (
	"net/http"
	"net/url"
	"os"

	"golang.org/x/term"
)

func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// noProxy is for clusters on this machine: a proxy can't reach its loopback.
func noProxy(*http.Request) (*url.URL, error) { return nil, nil }
