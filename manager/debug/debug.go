// Package debug shows what controllers are doing, over HTTP.
//
// It reads the flight recorder's events, and shows for each controller its latest reconciles: their
// reasons, the time they waited and took, and their results.
//
// Neighbours: below it is only trace. Above it is the manager, which serves Reconciles at
// /debug/reconciles, next to pprof.
package debug

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/loopwright/loopwright/trace"
)

// ReconcilesPath is where Reconciles is served.
const ReconcilesPath = "/debug/reconciles"

const (
	defaultShown = 20
	maxShown     = trace.DefaultSize
)

// Reconciles answers GET requests with the latest reconciles of each controller that writes to the
// recorder, newest first: as text, or as JSON with ?format=json or "Accept: application/json".
//
//	?controller=NAME   only this one
//	?namespace=NAME    only requests in this namespace
//	?name=NAME         only requests with this name
//	?n=100             so many for each controller, instead of 20
//
// If the recorder is nil, the answer says that it is off. The answer has names of objects and texts
// of errors in it: serve it only where untrusted clients cannot connect.
func Reconciles(recorder *trace.Recorder) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Method != http.MethodGet && req.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "only GET is possible here", http.StatusMethodNotAllowed)
			return
		}
		wanted, err := parse(req)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		events := recorder.Events()
		shown := report{
			On: recorder.On(), Recorded: recorder.Recorded(), Held: len(events),
			Controllers: wanted.apply(summarize(events, recorder.Started())),
		}
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		if wanted.json {
			w.Header().Set("Content-Type", "application/json")
			enc := json.NewEncoder(w)
			enc.SetIndent("", "  ")
			_ = enc.Encode(shown) // an error means that the client has disconnected
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		shown.print(w)
	})
}

// selection is what the client asks for.
type selection struct {
	controller, namespace, name string
	n                           int
	json                        bool
}

func parse(req *http.Request) (selection, error) {
	query := req.URL.Query()
	for key := range query {
		switch key {
		case "controller", "namespace", "name", "n", "format":
		default:
			return selection{}, fmt.Errorf("unknown parameter %q; possible are controller, "+
				"namespace, name, n and format", key)
		}
	}
	s := selection{
		controller: query.Get("controller"), namespace: query.Get("namespace"),
		name: query.Get("name"), n: defaultShown,
	}
	switch format := query.Get("format"); format {
	case "json":
		s.json = true
	case "text":
	case "":
		s.json = strings.Contains(req.Header.Get("Accept"), "application/json")
	default:
		return s, fmt.Errorf("format %q: it must be text or json", format)
	}
	if n := query.Get("n"); n != "" {
		// 0 or out of range if it is no number
		if s.n, _ = strconv.Atoi(n); s.n < 1 || s.n > maxShown {
			return s, fmt.Errorf("n %q: it must be a number from 1 to %d", n, maxShown)
		}
	}
	return s, nil
}

// apply removes what the client did not ask for.
func (s selection) apply(all []oneController) []oneController {
	shown := []oneController{}
	for _, c := range all {
		if s.controller != "" && s.controller != c.Name {
			continue
		}
		latest := []oneReconcile{}
		for _, r := range c.Reconciles {
			if len(latest) < s.n && (s.namespace == "" || s.namespace == r.Namespace) &&
				(s.name == "" || s.name == r.Name) {
				latest = append(latest, r)
			}
		}
		c.Reconciles = latest
		shown = append(shown, c)
	}
	return shown
}

const clock = "15:04:05.000"

// print writes the report as text. It ignores errors: the client has disconnected.
func (r report) print(to io.Writer) {
	switch {
	case !r.On:
		fmt.Fprintln(to, "The flight recorder is off. "+
			"Set Recorder in the manager's or the controller's options to trace.New(0).")
		return
	case len(r.Controllers) == 0:
		fmt.Fprintf(to, "No reconciles of such a controller in the last %d of %d events.\n",
			r.Held, r.Recorded)
		return
	}
	fmt.Fprintf(to, "From the last %d of %d events.\n", r.Held, r.Recorded)
	for _, c := range r.Controllers {
		fmt.Fprintf(to, "\n%s: %d running, %d ended, %d of them failed\n",
			title(c), c.Running, c.Ended, c.Failed)
		if len(c.Reconciles) == 0 {
			continue
		}
		table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "  STARTED\tREQUEST\tQUEUED\tTOOK\tRESULT\tREASONS")
		for _, one := range c.Reconciles {
			fmt.Fprintf(table, "  %s\t%s\t%s\t%s\t%s\t%s\n",
				one.Started.Format(clock), oneLine(one.request()), one.queued(), one.took(),
				oneLine(one.result()), oneLine(one.reasons()))
		}
		_ = table.Flush()
	}
}

func title(c oneController) string {
	if c.Kind == "" {
		return c.Name
	}
	return c.Name + " (" + c.Kind + ")"
}

func (r oneReconcile) request() string {
	if r.Namespace == "" {
		return r.Name
	}
	return r.Namespace + "/" + r.Name
}

func (r oneReconcile) queued() string {
	if r.Queued == nil {
		return "?"
	}
	return short(*r.Queued)
}

func (r oneReconcile) took() string {
	if r.Running {
		return "-"
	}
	return short(r.Took)
}

func (r oneReconcile) result() string {
	switch {
	case r.Running:
		return "running"
	case r.Message != "":
		return r.Result + ": " + r.Message
	}
	return r.Result
}

func (r oneReconcile) reasons() string {
	switch {
	case r.Reasons == "" && r.Causes <= 1:
		return "?"
	case r.Causes > 1:
		return strings.TrimSpace(r.Reasons + " (" + strconv.Itoa(r.Causes) + " causes)")
	}
	return r.Reasons
}

// short rounds to about three digits: the reader wants to know whether it was milliseconds or
// minutes.
func short(d time.Duration) string {
	switch {
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(100 * time.Nanosecond).String()
}

// oneLine removes line breaks and tabs, which the text of an error may have: each reconcile is one
// row.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
