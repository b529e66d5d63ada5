package xray

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loopwright/loopwright/trace"
)

const (
	// pictureEvery is the least time between two messages: 20 a second.
	pictureEvery = 50 * time.Millisecond
	// quietFor is how long nothing may happen until a comment is sent: a connection that is dead
	// is noticed, and a proxy keeps one that is not.
	quietFor = 15 * time.Second
	// writeLimit is how long a viewer may take for one message.
	writeLimit = 10 * time.Second
	// messageSize is how many events a browser takes in at once.
	messageSize = 1000
)

// hello is the first message.
type hello struct {
	Program string    `json:"program"`
	Started time.Time `json:"started"` // differs after a restart
	Now     time.Time `json:"now"`     // the page's clock may be another
}

// serveEvents sends the events as they come, until the viewer or the server goes.
func (x *XRay) serveEvents(w http.ResponseWriter, r *http.Request) {
	ended, err := x.enter(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	defer x.leave()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	go func() {
		select {
		case <-ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	w.Header().Set("Content-Type", "text/event-stream")
	s := stream{w, http.NewResponseController(w)}
	if s.sendJSON("hello", hello{x.program, x.recorder.Started(), time.Now()}) != nil {
		return
	}
	// told is the newest event that the viewer has, or knows to have missed; 0 for a new viewer.
	told, pressed := x.seen(r.Header.Get("Last-Event-ID")), -1
	cursor, first := x.recorder.Cursor(), true
	for ctx.Err() == nil {
		if !wait(ctx, cursor) {
			if s.send("", "", "") != nil {
				return
			}
			continue
		}
		events, _ := cursor.Read() // what the cursor has lost, the viewer may have
		if len(events) == 0 {
			continue // the ring has turned while it was read
		}
		var lost uint64
		if told > 0 && events[0].Seq > told+1 {
			lost = events[0].Seq - told - 1
		}
		newest := events[len(events)-1].Seq
		if first && (told == 0 || lost > 0) { // it's new, or comes back too late
			events = x.events(events)
		} else {
			events = after(events, told)
		}
		if x.sendAll(s, events, lost) != nil || x.sendSteps(s, &pressed) != nil {
			return
		}
		first, told = false, max(told, newest)
		select {
		case <-time.After(pictureEvery):
		case <-ctx.Done():
		}
	}
}

// wait returns false if nothing is recorded for a while, or if ctx ends.
func wait(ctx context.Context, cursor *trace.Cursor) bool {
	ctx, cancel := context.WithTimeout(ctx, quietFor)
	defer cancel()
	return cursor.Wait(ctx) == nil
}

// id names an event among all that this program, or an earlier one on the same port, has recorded.
func (x *XRay) id(e trace.Event) string {
	return fmt.Sprintf("%d-%d", x.recorder.Started().UnixNano(), e.Seq)
}

// seen returns the number of the event that a browser has seen last, when it connects again.
func (x *XRay) seen(id string) uint64 {
	started, seq, _ := strings.Cut(id, "-")
	if started != strconv.FormatInt(x.recorder.Started().UnixNano(), 10) {
		return 0
	}
	n, _ := strconv.ParseUint(seq, 10, 64)
	return n
}

func after(events []trace.Event, seq uint64) []trace.Event {
	for len(events) > 0 && events[0].Seq <= seq {
		events = events[1:]
	}
	return events
}

// sendSteps sends the state of the buttons if it is another one than at the last time.
func (x *XRay) sendSteps(s stream, pressed *int) error {
	if x.steps == nil {
		return nil
	}
	state, now := x.steps.state()
	if now == *pressed {
		return nil
	}
	*pressed = now
	return s.sendJSON("steps", state)
}

func (x *XRay) sendAll(s stream, events []trace.Event, lost uint64) error {
	if lost > 0 {
		if err := s.send("lost", "", strconv.FormatUint(lost, 10)); err != nil {
			return err
		}
	}
	for some := range slices.Chunk(events, messageSize) {
		var lines strings.Builder
		if err := trace.WriteJSON(&lines, x.recorder.Started(), some); err != nil {
			return err
		}
		if err := s.send("", x.id(some[len(some)-1]), lines.String()); err != nil {
			return err
		}
	}
	return nil
}

// stream writes server-sent events to one viewer.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

// send sends a message of one or more lines. The browser joins the lines again.
func (s stream) send(kind, id, text string) error {
	var message strings.Builder
	if kind != "" {
		message.WriteString("event: " + kind + "\n")
	}
	if id != "" {
		message.WriteString("id: " + id + "\n")
	}
	for line := range strings.Lines(text) {
		message.WriteString("data: " + strings.TrimSuffix(line, "\n") + "\n")
	}
	message.WriteString("\n")
	_ = s.control.SetWriteDeadline(time.Now().Add(writeLimit)) // a writer without one has none
	if _, err := s.w.Write([]byte(message.String())); err != nil {
		return err
	}
	return s.control.Flush()
}

func (s stream) sendJSON(kind string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return s.send(kind, "", string(text))
}
