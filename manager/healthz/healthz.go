// Package healthz answers liveness and readiness probes.
//
// A kubelet sends an HTTP request. The Handler runs its Checkers, and answers 200 or 500. Its root
// runs all checks together, and each check has its own path.
//
// Neighbours: below it is only net/http. Above it is the manager, which serves one Handler at
// /healthz and another one at /readyz.
package healthz

import (
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/loopwright/loopwright/manager/log"
)

var logger = log.RuntimeLog.WithName("healthz")

// Checker returns nil, or an error that says what's wrong. The request is the client's, so its
// context ends when the client disconnects.
type Checker func(req *http.Request) error

// Ping succeeds as long as the process can answer at all.
var Ping Checker = func(*http.Request) error { return nil }

// CheckHandler serves one check. It sends the error to the client.
type CheckHandler struct {
	Checker
}

// ServeHTTP implements http.Handler.
func (h CheckHandler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if err := h.Checker(req); err != nil {
		http.Error(w, fmt.Sprintf("internal server error: %v", err), http.StatusInternalServerError)
		return
	}
	fmt.Fprint(w, "ok")
}

// Handler serves several checks: all of them at its root, and each one below it, by its name. A
// name may have slashes, and characters that a URL escapes. Without any checks it has one, called
// ping, which always succeeds.
//
// The root answers "ok", or lists the checks if one of them failed. The list says which ones failed
// but not why, because any client may connect. The reasons are in the log, and at the paths of the
// single checks. With ?verbose there's always a list. ?exclude=NAME leaves a check out; you can
// give it several times.
//
// Caveats: Checks must not change while requests are served. They run one after another, so a slow
// one delays the answer. If one panics, net/http closes the connection without an answer, which
// counts as a failed probe.
type Handler struct {
	Checks map[string]Checker
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	name := pathOf(req.URL.Path)
	if name == "" {
		h.serveAll(w, req)
		return
	}
	checks := h.checks()
	if check, known := checks[name]; known {
		CheckHandler{check}.ServeHTTP(w, req)
		return
	}
	for _, other := range slices.Sorted(maps.Keys(checks)) {
		if pathOf(other) == name {
			CheckHandler{checks[other]}.ServeHTTP(w, req)
			return
		}
	}
	http.NotFound(w, req)
}

// pathOf returns the path of a check below the root: its name without slashes around it. For a name
// such as "/", which only the root runs, it's empty.
func pathOf(name string) string { return strings.TrimPrefix(path.Clean("/"+name), "/") }

func (h *Handler) checks() map[string]Checker {
	if len(h.Checks) == 0 {
		return map[string]Checker{"ping": Ping}
	}
	return h.Checks
}

// serveAll runs the checks, sorted by name.
func (h *Handler) serveAll(w http.ResponseWriter, req *http.Request) {
	excluded := map[string]bool{} // true once a check with this name was found
	for _, name := range req.URL.Query()["exclude"] {
		excluded[name] = false
	}
	checks, failed := h.checks(), []string(nil)
	var list strings.Builder
	for _, name := range slices.Sorted(maps.Keys(checks)) {
		if _, exclude := excluded[name]; exclude {
			excluded[name] = true
			fmt.Fprintf(&list, "[+]%s excluded: ok\n", name)
		} else if err := checks[name](req); err != nil {
			failed = append(failed, name+": "+err.Error())
			fmt.Fprintf(&list, "[-]%s failed: reason withheld\n", name)
		} else {
			fmt.Fprintf(&list, "[+]%s ok\n", name)
		}
	}
	if unknown := unmet(excluded); len(unknown) > 0 {
		fmt.Fprintf(&list, "warn: some health checks cannot be excluded: no matches for %s\n",
			strings.Join(unknown, ","))
	}
	if len(failed) > 0 {
		logger.Info("healthz check failed", "failed", failed)
	}
	_, verbose := req.URL.Query()["verbose"]
	answer(w, list.String(), len(failed) > 0, verbose)
}

func answer(w http.ResponseWriter, list string, failed, verbose bool) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	switch {
	case failed:
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprint(w, list, "healthz check failed\n")
	case verbose:
		fmt.Fprint(w, list, "healthz check passed\n")
	default:
		fmt.Fprint(w, "ok")
	}
}

// unmet returns the excluded names that match no check, quoted.
func unmet(excluded map[string]bool) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(excluded)) {
		if !excluded[name] {
			names = append(names, fmt.Sprintf("%q", name))
		}
	}
	return names
}
