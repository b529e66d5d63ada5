package controller

import (
	"fmt"
	"strings"
	"time"

	"github.com/loopwright/loopwright/trace"
)

// The controller's name is the layer of its events. The queue's have the same: together they are
// the story of a request.

func (c *controlLoop) record(event trace.Event) {
	if c.options.Recorder.On() {
		event.Layer, event.Object = c.name, c.options.Kind
		c.options.Recorder.Record(event)
	}
}

func (c *controlLoop) recordStart(w work) {
	if c.options.Recorder.On() {
		c.record(trace.Event{
			Kind: trace.ReconcileStart, Namespace: w.Item.Namespace, Name: w.Item.Name,
			Reason: strings.Join(w.Causes.Reasons(), ", "), Count: w.Causes.Count,
		})
	}
}

func (c *controlLoop) recordEnd(w work, d decision, err error, took time.Duration) {
	if !c.options.Recorder.On() {
		return
	}
	event := trace.Event{
		Kind: trace.ReconcileEnd, Outcome: traceOutcome(d),
		Namespace: w.Item.Namespace, Name: w.Item.Name, Took: took,
	}
	switch {
	case d.again == whenWoken:
		event.Reason = d.awaited.String()
	case d.again == afterDelay:
		event.Reason = "after " + d.after.String()
	case err != nil:
		event.Reason = fmt.Sprint(err) // it may be a nil pointer
	}
	c.record(event)
}

// traceOutcome is a decision in the recorder's words.
func traceOutcome(d decision) trace.Outcome {
	switch {
	case d.gaveUp || d.terminal:
		return trace.GivenUp
	case d.label == labelError:
		return trace.Failed
	case d.again == whenWoken:
		return trace.Waiting
	case d.again != onlyWhenAdded:
		return trace.Requeued
	default:
		return trace.Succeeded
	}
}
