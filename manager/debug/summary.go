package debug

import (
	"slices"
	"strings"
	"time"

	"github.com/loopwright/loopwright/trace"
)

// report is the answer. The JSON names are stable: fields may be added, but none changes its
// meaning.
type report struct {
	On          bool            `json:"on"`       // false without a recorder
	Recorded    uint64          `json:"recorded"` // events, since the program started
	Held        int             `json:"held"`     // events that this answer is made from
	Controllers []oneController `json:"controllers"`
}

// oneController is what one controller did, as far as the recorder's ring goes back.
type oneController struct {
	Name       string         `json:"name"`
	Kind       string         `json:"kind,omitempty"`
	Running    int            `json:"running"`
	Ended      int            `json:"ended"`
	Failed     int            `json:"failed"`     // of those that ended
	Reconciles []oneReconcile `json:"reconciles"` // newest first
}

// oneReconcile is one call of a reconciler. Reasons, causes and the time in the queue are missing
// if the ring has overwritten the events before its start.
type oneReconcile struct {
	Started   time.Time      `json:"started"`
	Namespace string         `json:"namespace,omitempty"`
	Name      string         `json:"name"`
	Running   bool           `json:"running,omitempty"`
	Reasons   string         `json:"reasons,omitempty"`
	Causes    int            `json:"causes,omitempty"` // how many were merged into this one
	Queued    *time.Duration `json:"queuedNanos,omitempty"`
	Took      time.Duration  `json:"tookNanos,omitempty"`
	// Result is one of succeeded, failed, requeued, waiting, given up.
	Result  string `json:"result,omitempty"`
	Message string `json:"message,omitempty"`
}

type request struct{ controller, namespace, name string }

// summarizer reads events, oldest first. A controller never works on one request twice at the same
// time, so an end belongs to the last start.
type summarizer struct {
	started time.Time
	all     map[string]*oneController
	queued  map[request]time.Duration // of a request that was taken out of the queue
	running map[request]oneReconcile
}

// summarize returns the reconciles of all controllers, sorted by the controllers' names.
func summarize(events []trace.Event, started time.Time) []oneController {
	s := summarizer{
		started: started, all: map[string]*oneController{},
		queued: map[request]time.Duration{}, running: map[request]oneReconcile{},
	}
	for _, e := range events {
		r := request{e.Layer, e.Namespace, e.Name}
		switch e.Kind {
		case trace.Dequeue:
			s.queued[r] = e.Took
		case trace.ReconcileStart:
			s.start(r, e)
		case trace.ReconcileEnd:
			s.end(r, e)
		}
	}
	for r, running := range s.running {
		c := s.all[r.controller]
		c.Running++
		c.Reconciles = append(c.Reconciles, running)
	}
	var out []oneController
	for _, c := range s.all {
		slices.SortFunc(c.Reconciles, newestFirst)
		out = append(out, *c)
	}
	slices.SortFunc(out, func(a, b oneController) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func newestFirst(a, b oneReconcile) int {
	if order := b.Started.Compare(a.Started); order != 0 {
		return order
	}
	return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
}

func (s *summarizer) of(e trace.Event) *oneController {
	c := s.all[e.Layer]
	if c == nil {
		c = &oneController{Name: e.Layer}
		s.all[e.Layer] = c
	}
	if c.Kind == "" {
		c.Kind = e.Object
	}
	return c
}

func (s *summarizer) start(r request, e trace.Event) {
	s.of(e)
	begun := oneReconcile{
		Started: s.started.Add(e.At), Namespace: e.Namespace, Name: e.Name,
		Running: true, Reasons: e.Reason, Causes: e.Count,
	}
	if queued, known := s.queued[r]; known {
		begun.Queued = &queued
		delete(s.queued, r)
	}
	s.running[r] = begun
}

func (s *summarizer) end(r request, e trace.Event) {
	c := s.of(e)
	ended, known := s.running[r]
	if !known {
		ended = oneReconcile{
			Started: s.started.Add(e.At - e.Took), Namespace: e.Namespace, Name: e.Name,
		}
	}
	delete(s.running, r)
	ended.Running, ended.Took = false, e.Took
	ended.Result, ended.Message = e.Outcome.String(), e.Reason
	c.Ended++
	if e.Outcome == trace.Failed || e.Outcome == trace.GivenUp {
		c.Failed++
	}
	c.Reconciles = append(c.Reconciles, ended)
}
