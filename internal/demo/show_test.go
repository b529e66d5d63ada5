package demo

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/loopwright/loopwright/trace"
)

// A story about two hundred heartbeats would bury everything else under them.
func TestATimelineShowsWhatTheStoryWants(t *testing.T) {
	var out bytes.Buffer
	recorder := trace.New(0)
	d := &Demo{Recorder: recorder, out: &out, cursor: recorder.Cursor()}
	note := func(text string) { recorder.Record(trace.Event{Kind: trace.Note, Reason: text}) }
	note("before")
	d.Show(func(e trace.Event) bool { return e.Reason != "noise" })
	note("noise")
	note("signal")
	d.Show(nil)
	note("noise, later")
	d.Say("the end")

	assert.Contains(t, out.String(), "before", "it was recorded while everything was shown")
	assert.NotContains(t, out.String(), "noise\n")
	assert.Contains(t, out.String(), "signal")
	assert.Contains(t, out.String(), "noise, later")
}
