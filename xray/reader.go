package xray

import (
	"context"
	"strings"
	"time"

	"github.com/loopwright/loopwright/trace"
)

// Follow calls send with a recorder's news, as lines of trace.WriteRecording, until ctx ends. It's
// for a page that runs the program itself, and has no server: the page's Player.feed takes them.
// send is called at most 20 times a second, and never concurrently.
func Follow(ctx context.Context, recorder *trace.Recorder, send func(lines string)) error {
	read := newReader(recorder, 0)
	for read.cursor.Wait(ctx) == nil {
		n := read.next()
		var lines strings.Builder
		if n.state.Seq > 0 {
			if err := trace.WriteState(&lines, recorder.Started(), n.state); err != nil {
				return err
			}
		}
		if err := trace.WriteJSON(&lines, recorder.Started(), n.events); err != nil {
			return err
		}
		if lines.Len() > 0 {
			send(lines.String())
		}
		select {
		case <-time.After(pictureEvery):
		case <-ctx.Done():
		}
	}
	return nil
}

// reader reads a recorder for one viewer, who may already have seen a part.
type reader struct {
	recorder *trace.Recorder
	cursor   *trace.Cursor
	state    trace.State // from which the cursor continues; with Seq 0, the viewer needs none
	told     uint64      // the newest event that the viewer has, or knows it missed
}

// news is what the viewer doesn't have yet.
type news struct {
	lost   uint64      // how many events it has missed
	state  trace.State // what is true after them; with Seq 0, the viewer continues from what it knows
	events []trace.Event
}

// newReader is for a viewer that has the events up to number told; 0 is a new one.
func newReader(recorder *trace.Recorder, told uint64) *reader {
	r := &reader{recorder: recorder, told: told}
	r.state, r.cursor = recorder.State()
	return r
}

// next returns the news since the last call. There may be none.
func (r *reader) next() (n news) {
	const often = 3 // the ring may turn again while it's read
	events, lost := r.cursor.Read()
	for i := 0; lost > 0 && i < often; i++ {
		r.state, r.cursor = r.recorder.State()
		events, lost = r.cursor.Read()
	}
	for len(events) > 0 && events[0].Seq <= r.told {
		events = events[1:] // it has come back, and has these
	}
	if len(events) == 0 {
		return news{}
	}
	n.events = events
	if r.told > 0 {
		n.lost = events[0].Seq - r.told - 1
	}
	if r.told == 0 || n.lost > 0 {
		n.state = r.state
	}
	r.told = events[len(events)-1].Seq
	return n
}
