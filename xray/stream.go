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
	// quietFor is how long nothing may happen until a comment is sent: we notice a dead connection,
	// and a proxy keeps a live one.
	quietFor = 15 * time.Second
	// writeLimit is how long a viewer may take for one message.
	writeLimit = 10 * time.Second
	// messageSize is how many events a browser gets at once.
	messageSize = 1000
)

// hello is the first message.
type hello struct {
	Program string    `json:"program"`
	Started time.Time `json:"started"` // differs after a restart
	Now     time.Time `json:"now"`     // the page's clock may be another
}

// serveEvents sends the events as they come, until the viewer disconnects or the server stops.
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
	read, pressed := newReader(x.recorder, x.seen(r.Header.Get("Last-Event-ID"))), -1
	for ctx.Err() == nil {
		if !wait(ctx, read.cursor) {
			if s.send("", "", "") != nil {
				return
			}
			continue
		}
		if x.sendAll(s, read.next()) != nil || x.sendSteps(s, &pressed) != nil {
			return
		}
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

// id identifies an event among all that this program, or an earlier one on the same port, has
// recorded.
func (x *XRay) id(e trace.Event) string {
	return fmt.Sprintf("%d-%d", x.recorder.Started().UnixNano(), e.Seq)
}

// seen returns the number of the last event that a browser has seen, when it connects again.
func (x *XRay) seen(id string) uint64 {
	started, seq, _ := strings.Cut(id, "-")
	if started != strconv.FormatInt(x.recorder.Started().UnixNano(), 10) {
		return 0
	}
	n, _ := strconv.ParseUint(seq, 10, 64)
	return n
}

// sendSteps sends the state of the buttons if it has changed since the last time.
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

func (x *XRay) sendAll(s stream, n news) error {
	if n.lost > 0 {
		if err := s.send("lost", "", strconv.FormatUint(n.lost, 10)); err != nil {
			return err
		}
	}
	var lines strings.Builder
	if n.state.Seq > 0 {
		if err := trace.WriteState(&lines, x.recorder.Started(), n.state); err != nil {
			return err
		}
	}
	for some := range slices.Chunk(n.events, messageSize) {
		if err := trace.WriteJSON(&lines, x.recorder.Started(), some); err != nil {
			return err
		}
		if err := s.send("", x.id(some[len(some)-1]), lines.String()); err != nil {
			return err
		}
		lines.Reset()
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
