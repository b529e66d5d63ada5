package debug

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

const clock = "15:04:05.000"

// print writes the report for people. Errors mean that the client has gone.
func (r report) print(to io.Writer) {
	switch {
	case !r.On:
		fmt.Fprintln(to, "The flight recorder is off. Set Recorder in the manager's or the controller's options to trace.New(0).")
		return
	case len(r.Controllers) == 0:
		fmt.Fprintf(to, "No reconciles of such a controller in the last %d of %d events.\n", r.Held, r.Recorded)
		return
	}
	fmt.Fprintf(to, "From the last %d of %d events.\n", r.Held, r.Recorded)
	for _, c := range r.Controllers {
		fmt.Fprintf(to, "\n%s: %d running, %d ended, %d of them failed\n", title(c), c.Running, c.Ended, c.Failed)
		if len(c.Reconciles) == 0 {
			continue
		}
		table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "  STARTED\tREQUEST\tQUEUED\tTOOK\tRESULT\tREASONS")
		for _, one := range c.Reconciles {
			fmt.Fprintf(table, "  %s\t%s\t%s\t%s\t%s\t%s\n", one.Started.Format(clock), oneLine(one.request()), one.queued(), one.took(), oneLine(one.result()), oneLine(one.reasons()))
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

// short has three digits or so: what is of interest is whether it was milliseconds or minutes.
func short(d time.Duration) string {
	switch {
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(100 * time.Nanosecond).String()
}

// oneLine keeps a row a row: the text of an error may have lines, and tabs.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
