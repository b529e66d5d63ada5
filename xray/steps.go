package xray

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/loopwright/loopwright/trace"
)

// Steps is the step mode of a demo. It holds workers, and disturbs the traffic between the program
// and its API server, when somebody presses a button of the page. The machinery knows nothing of
// it: a demo calls HasWorkers, then Wait before each reconcile, and passes Wrap to its rest.Config.
//
// Don't use it in a program that does real work: anybody who opens the page can stop it.
type Steps struct {
	recorder *trace.Recorder // gets a note of each press

	mu       sync.Mutex // guards all below
	changed  *sync.Cond
	holding  bool             // the workers
	workers  bool             // there are some that call Wait
	let      int              // reconciles that may pass, while holding
	resource map[string]*line // by the watched resource: "pods"
	loseNext bool             // the answer of the next write
	leases   bool             // there were requests about a lease
	cutLease bool             // no request about a lease comes through
	presses  int              // counts presses, and other changes that the page needs
}

// line is the state of the watches of one resource.
type line struct {
	held    bool
	expired bool // the next watch is refused
	open    map[*heldBody]bool
}

// NewSteps returns a step mode that changes nothing yet. It records each press.
func NewSteps(recorder *trace.Recorder) *Steps {
	s := &Steps{recorder: recorder, resource: map[string]*line{}}
	s.changed = sync.NewCond(&s.mu)
	return s
}

// HasWorkers says that workers call Wait, so that the page has a button for them.
func (s *Steps) HasWorkers() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.workers = true
	s.presses++
}

// Wait blocks while the workers are held, until this one may pass or ctx ends.
func (s *Steps) Wait(ctx context.Context) error {
	defer context.AfterFunc(ctx, s.wake)()
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.holding && s.let == 0 && ctx.Err() == nil {
		s.changed.Wait()
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if s.holding {
		s.let--
	}
	return nil
}

// wake makes all waiting callers check again.
func (s *Steps) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed.Broadcast()
}

// press is the message of a button.
type press struct {
	Do       string `json:"do"`
	Resource string `json:"resource,omitempty"` // of buttons about a watch
}

// press does what a button says, and records it.
func (s *Steps) press(p press) error {
	said, err := s.pressLocked(p)
	if err == nil {
		s.recorder.Record(trace.Event{Kind: trace.Note, Layer: "step mode", Reason: said})
	}
	return err
}

func (s *Steps) pressLocked(p press) (said string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.changed.Broadcast()
	s.presses++
	switch p.Do {
	case "hold workers":
		s.holding, s.let = true, 0
		return "the workers are held", nil
	case "release workers":
		s.holding = false
		return "the workers go on", nil
	case "one step":
		if !s.holding {
			return "", errors.New("hold the workers first")
		}
		s.let++
		return "one reconcile may pass", nil
	case "lose an answer":
		s.loseNext = true
		return "the answer of the next write will be lost", nil
	case "cut the lease":
		s.cutLease = true
		return "requests about leases do not come through", nil
	case "restore the lease":
		s.cutLease = false
		return "requests about leases come through again", nil
	}
	l := s.resource[p.Resource]
	if l == nil {
		return "", fmt.Errorf("nothing here watches %q", p.Resource)
	}
	switch p.Do {
	case "hold watch":
		l.held = true
		return "the watch of " + p.Resource + " is held: what happens is not seen", nil
	case "release watch":
		l.held = false
		return "the watch of " + p.Resource + " goes on", nil
	case "drop watch":
		l.drop()
		return "the watch of " + p.Resource + " is cut", nil
	case "expire watch":
		l.expired = true
		l.drop()
		return "the watch of " + p.Resource + " is cut, and the next is answered 410 Gone", nil
	}
	return "", fmt.Errorf("there is no button %q", p.Do)
}

// drop ends the watches that are open.
func (l *line) drop() {
	for body := range l.open {
		body.cut = true
		_ = body.ReadCloser.Close()
	}
}

// stepState is the state of the buttons.
type stepState struct {
	Workers  bool     `json:"workers"` // can be held
	Holding  bool     `json:"holding"`
	Watched  []string `json:"watched"` // resources
	Held     []string `json:"held"`
	LoseNext bool     `json:"loseNext"`
	Leases   bool     `json:"leases"` // there are some
	CutLease bool     `json:"cutLease"`
}

// state returns the state of the buttons, and a number that differs whenever they've changed.
func (s *Steps) state() (stepState, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := stepState{Workers: s.workers, Holding: s.holding, LoseNext: s.loseNext,
		Leases: s.leases, CutLease: s.cutLease,
		Watched: slices.Sorted(maps.Keys(s.resource)), Held: []string{}}
	for _, name := range state.Watched {
		if s.resource[name].held {
			state.Held = append(state.Held, name)
		}
	}
	return state, s.presses
}

// serveSteps handles the message of a button.
func (x *XRay) serveSteps(w http.ResponseWriter, r *http.Request) {
	// A page of another site can send requests here, too, but a browser says where it is from.
	if err := http.NewCrossOriginProtection().Check(r); err != nil {
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	var p press
	err := json.NewDecoder(io.LimitReader(r.Body, 1000)).Decode(&p)
	if err == nil {
		err = x.steps.press(p)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// Wrap puts the buttons between a client and its connection. Pass it to rest.Config.Wrap.
func (s *Steps) Wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		switch {
		case strings.Contains(r.URL.Path, "/leases"):
			s.mu.Lock()
			cut := s.cutLease
			if !s.leases {
				s.leases = true
				s.presses++
			}
			s.mu.Unlock()
			if cut {
				return nil, errors.New("step mode: requests about leases do not come through")
			}
			return next.RoundTrip(r)
		case slices.Contains([]string{"true", "1"}, r.URL.Query().Get("watch")):
			return s.watch(next, r)
		case r.Method != http.MethodGet:
			return s.write(next, r)
		}
		return next.RoundTrip(r)
	})
}

// roundTripper is a function as an http.RoundTripper.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// write loses the answer, if the button was pressed: the API server has written, and the client
// doesn't know.
func (s *Steps) write(next http.RoundTripper, r *http.Request) (*http.Response, error) {
	response, err := next.RoundTrip(r)
	s.mu.Lock()
	lose := s.loseNext && err == nil
	if lose {
		s.loseNext = false
		s.presses++
	}
	s.mu.Unlock()
	if lose {
		s.recorder.Record(trace.Event{Kind: trace.Note, Layer: "step mode",
			Reason: "the answer of " + r.Method + " " + r.URL.Path + " is lost"})
		_ = response.Body.Close()
		return nil, errors.New("step mode: the answer was lost")
	}
	return response, err
}

const gone = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",` +
	`"message":"step mode: too old resource version","reason":"Expired","code":410}`

// watch refuses a watch if the button was pressed, and otherwise holds its events when they arrive.
func (s *Steps) watch(next http.RoundTripper, r *http.Request) (*http.Response, error) {
	name := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	s.mu.Lock()
	l := s.resource[name]
	if l == nil {
		l = &line{open: map[*heldBody]bool{}}
		s.resource[name] = l
		s.presses++ // the page gets a new choice
	}
	expired := l.expired
	l.expired = false
	s.mu.Unlock()
	if expired {
		return &http.Response{
			Status: "410 Gone", StatusCode: http.StatusGone, Request: r,
			Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Header: http.Header{"Content-Type": {"application/json"}},
			Body:   io.NopCloser(strings.NewReader(gone)), ContentLength: int64(len(gone)),
		}, nil
	}
	response, err := next.RoundTrip(r)
	if err != nil || response.StatusCode != http.StatusOK {
		return response, err
	}
	body := &heldBody{ReadCloser: response.Body, steps: s, line: l, ctx: r.Context()}
	body.stopWaking = context.AfterFunc(r.Context(), s.wake)
	s.mu.Lock()
	l.open[body] = true
	s.mu.Unlock()
	response.Body = body
	return response, nil
}

// heldBody is the answer to a watch.
type heldBody struct {
	io.ReadCloser
	steps      *Steps
	line       *line
	ctx        context.Context
	stopWaking func() bool

	cut, closed bool // guarded by steps.mu
}

// Read returns what has arrived, once the watch is no longer held.
func (b *heldBody) Read(into []byte) (n int, err error) {
	n, err = b.ReadCloser.Read(into)
	b.steps.mu.Lock()
	defer b.steps.mu.Unlock()
	for b.line.held && !b.cut && !b.closed && b.ctx.Err() == nil {
		b.steps.changed.Wait()
	}
	if b.cut {
		return 0, io.EOF
	}
	return n, err
}

func (b *heldBody) Close() error {
	b.stopWaking()
	b.steps.mu.Lock()
	b.closed = true
	delete(b.line.open, b)
	b.steps.changed.Broadcast()
	b.steps.mu.Unlock()
	return b.ReadCloser.Close()
}
