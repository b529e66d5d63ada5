package trace

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
)

// Timeline renders events for people: one line an event, with the time since
// the recorder started, the layer, the kind, the object and a short sentence.
//
//	0.004s  listwatch  list         Pod                12 items at resourceVersion 811
//	1.310s  listwatch  watch event  Pod default/web-1  ADDED at resourceVersion 815
//
// The zero Timeline works. Rendering is pure; only Write and Follow do I/O.
//
// Names and errors come from servers, and from whoever made the object. So a line break or an
// escape sequence in one of them is shown as \n or \x1b, and doesn't reach the terminal.
type Timeline struct {
	Filter Filter // what to show; zero shows everything
	Color  bool   // ANSI colours; the caller knows whether its output is a terminal

	// Minimum widths of the columns. Write widens them to fit all its events. Follow sees one event
	// at a time, and widens a column when it must: set the widths to keep the columns aligned from
	// the first line.
	LayerWidth, ObjectWidth int
}

// kindWidth is the length of the longest kind, "reconcile start".
const kindWidth = 15

// Write renders the events that the filter selects.
func (t Timeline) Write(w io.Writer, events []Event) error {
	events = t.Filter.Select(events)
	for _, e := range events {
		t.widen(e)
	}
	for _, e := range events {
		if _, err := fmt.Fprintln(w, t.Line(e)); err != nil {
			return fmt.Errorf("writing the timeline: %w", err)
		}
	}
	return nil
}

// Follow renders events as they're recorded, from the oldest one that rec still holds, until ctx
// ends. It still writes events that were recorded before ctx ended. If events come faster than w
// takes them, a line says how many are missing.
func (t Timeline) Follow(ctx context.Context, rec *Recorder, w io.Writer) error {
	c := rec.Cursor()
	for {
		ended := c.Wait(ctx) != nil
		events, lost := c.Read()
		if lost > 0 {
			if _, err := fmt.Fprintf(
				w, "          ... %d events were overwritten before they could be shown\n", lost,
			); err != nil {
				return fmt.Errorf("writing the timeline: %w", err)
			}
		}
		for _, e := range t.Filter.Select(events) {
			t.widen(e)
			if _, err := fmt.Fprintln(w, t.Line(e)); err != nil {
				return fmt.Errorf("writing the timeline: %w", err)
			}
		}
		if ended {
			return nil
		}
	}
}

func (t *Timeline) widen(e Event) {
	t.LayerWidth = max(t.LayerWidth, len(printable(e.Layer)))
	t.ObjectWidth = max(t.ObjectWidth, len(printable(subject(e))))
}

// Line renders one event, even if the filter doesn't select it.
func (t Timeline) Line(e Event) string {
	s := fmt.Sprintf("%8.3fs  %-*s  %s  %-*s  %s",
		e.At.Seconds(), t.LayerWidth, printable(e.Layer), t.paint(e),
		t.ObjectWidth, printable(subject(e)), printable(narrate(e)))
	return strings.TrimRight(s, " ")
}

// printable escapes characters that a terminal would act on, in Go's notation.
func printable(s string) string {
	isActive := func(r rune) bool { return !unicode.IsPrint(r) }
	if !strings.ContainsFunc(s, isActive) {
		return s
	}
	var all strings.Builder
	for _, r := range s {
		if isActive(r) {
			all.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		} else {
			all.WriteRune(r)
		}
	}
	return all.String()
}

// paint pads before it colours, because an escape sequence takes bytes but no width.
func (t Timeline) paint(e Event) string {
	s := fmt.Sprintf("%-*s", kindWidth, e.Kind)
	if !t.Color {
		return s
	}
	return color(e) + s + "\x1b[0m"
}

// color groups the kinds by part: watching, queueing, reconciling. Errors of every part are red.
func color(e Event) string {
	const red, green, yellow = "\x1b[31m", "\x1b[32m", "\x1b[33m"
	const blue, magenta, cyan = "\x1b[34m", "\x1b[35m", "\x1b[36m"
	switch {
	case e.Kind == Error, e.Kind == Expired, e.Outcome == Failed, e.Outcome == Conflict,
		e.Outcome == Refused:
		return red
	case e.Kind <= Backoff:
		return cyan
	case e.Kind <= Notified:
		return blue
	case e.Kind <= Handler:
		return magenta
	case e.Kind <= Done:
		return yellow
	default:
		return green
	}
}

// subject returns "Pod default/web-1", or the parts of it that the event has.
func subject(e Event) string {
	return kindAndKey(e.Object, e.Namespace, e.Name)
}

func kindAndKey(object, namespace, name string) string {
	key := keyOf(namespace, name)
	if object == "" || key == "" {
		return object + key
	}
	return object + " " + key
}

func keyOf(namespace, name string) string {
	if namespace != "" && name != "" {
		return namespace + "/" + name
	}
	return namespace + name
}
