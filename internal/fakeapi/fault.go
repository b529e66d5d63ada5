package fakeapi

import (
	"context"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// A Match selects requests. Empty fields match anything.
type Match struct {
	// Verb may also be several, as in "update|patch": clients choose freely between the two.
	Verb                                          string
	Group, Resource, Subresource, Namespace, Name string
	// UserAgent matches one client, by the start of its user agent.
	UserAgent string
}

func (m Match) matches(r Request) bool {
	if m.Verb != "" && m.Verb != r.Verb && !slices.Contains(strings.Split(m.Verb, "|"), r.Verb) {
		return false
	}
	for _, pair := range [...][2]string{
		{m.Group, r.Group}, {m.Resource, r.Resource},
		{m.Subresource, r.Subresource}, {m.Namespace, r.Namespace}, {m.Name, r.Name},
	} {
		if pair[0] != "" && pair[0] != pair[1] {
			return false
		}
	}
	return len(r.UserAgent) >= len(m.UserAgent) && r.UserAgent[:len(m.UserAgent)] == m.UserAgent
}

// A Fault is something that goes wrong with matching requests. It may name
// several effects; those of all faults that match a request add up.
type Fault struct {
	Match Match
	// Skip lets that many matching requests pass first.
	Skip int
	// Times is the number of requests that are hit; 0 is no limit.
	Times int
	// Probability hits a part of the requests, decided by Seed; 0 hits all.
	Probability float64
	Seed        uint64
	// OnHit, if it is there, is called for each request that is hit, before the
	// effect. It must not call the server.
	OnHit func(Request)

	// Status is sent instead of an answer; see Conflict, TooManyRequests and
	// the like.
	Status *metav1.Status
	// Delay passes before the request is served.
	Delay time.Duration
	// Refuse cuts the connection before the request is carried out.
	Refuse bool
	// Hang never answers: the client runs into its own time-out.
	Hang bool
	// LoseResponse carries the request out and then cuts the connection, so
	// that the client does not know whether its write happened.
	LoseResponse bool
	// Stale serves a get or list from that many writes ago, as a cache that
	// lags behind does for reads with resourceVersion "0". It also hits reads
	// that ask for the present, which a real server never serves stale.
	Stale uint64
	// NoVersions serves lists without a resourceVersion, neither their own nor
	// the items', and refuses watches. So do aggregated API servers that compute
	// their objects at each request, such as that of metrics.k8s.io.
	NoVersions bool

	// CutAfterEvents cuts a watch after this many events.
	CutAfterEvents int
	// CutAfter cuts a watch after a time.
	CutAfter time.Duration
	// CutAbruptly makes a cut look like a broken connection instead of an
	// orderly end.
	CutAbruptly bool
	// DelayEvents holds each event of a watch back for so long.
	DelayEvents time.Duration
	// DropEvents loses this part of the events of a watch, decided by Seed.
	// No API server may ever do this; it shows what a client would miss.
	DropEvents float64
	// NoInitialEventsEnd never sends the bookmark that ends the initial events
	// of a WatchList, as a server with a broken watch cache does.
	NoInitialEventsEnd bool
	// NoWatchList refuses sendInitialEvents, as a server without the feature.
	NoWatchList bool
	// IgnoreWatchList ignores it, as servers before 1.27 do.
	IgnoreWatchList bool
}

// faults are the faults in force.
type faults struct {
	mu sync.Mutex // guards armed and what it points to
	// armed is in the order of injection.
	armed []*armed
}

type armed struct {
	Fault
	random  *rand.Rand
	matched int
	hit     int
}

// A faultPlan is the sum of the faults that hit one request.
type faultPlan struct {
	status       *metav1.Status
	delay        time.Duration
	refuse       bool
	hang         bool
	loseResponse bool
	stale        uint64
	noVersions   bool
	watch        watchFaults
}

type watchFaults struct {
	cutAfterEvents  int
	cutAfter        time.Duration
	cutAbruptly     bool
	delay           time.Duration
	drop            float64
	random          *rand.Rand // for drop; used by one watch only
	noEnd           bool
	noWatchList     bool
	ignoreWatchList bool
}

// Inject puts a fault into force and returns the function that removes it. A watch that is under
// way keeps the faults that it began with.
func (s *Server) Inject(f Fault) (remove func()) {
	a := &armed{Fault: f, random: rand.New(rand.NewPCG(f.Seed, 0x6661756c74))}
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.armed = append(s.faults.armed, a)
	return func() {
		s.faults.mu.Lock()
		defer s.faults.mu.Unlock()
		for i, other := range s.faults.armed {
			if other == a {
				s.faults.armed = append(s.faults.armed[:i:i], s.faults.armed[i+1:]...)
				return
			}
		}
	}
}

// plan decides which faults hit a request.
func (f *faults) plan(r Request) faultPlan {
	f.mu.Lock()
	defer f.mu.Unlock()
	var p faultPlan
	for _, a := range f.armed {
		if a.Match.matches(r) && a.hits() {
			if a.OnHit != nil {
				a.OnHit(r)
			}
			p.add(a)
		}
	}
	return p
}

func (a *armed) hits() bool {
	a.matched++
	switch {
	case a.matched <= a.Skip:
		return false
	case a.Times > 0 && a.hit >= a.Times:
		return false
	case a.Probability > 0 && a.random.Float64() >= a.Probability:
		return false
	}
	a.hit++
	return true
}

func (p *faultPlan) add(a *armed) {
	if p.status == nil {
		p.status = a.Status
	}
	p.delay += a.Delay
	p.refuse = p.refuse || a.Refuse
	p.hang = p.hang || a.Hang
	p.loseResponse = p.loseResponse || a.LoseResponse
	p.stale = max(p.stale, a.Stale)
	p.noVersions = p.noVersions || a.NoVersions
	w := &p.watch
	if a.CutAfterEvents > 0 && (w.cutAfterEvents == 0 || a.CutAfterEvents < w.cutAfterEvents) {
		w.cutAfterEvents = a.CutAfterEvents
	}
	if a.CutAfter > 0 && (w.cutAfter == 0 || a.CutAfter < w.cutAfter) {
		w.cutAfter = a.CutAfter
	}
	w.cutAbruptly = w.cutAbruptly || a.CutAbruptly
	w.delay += a.DelayEvents
	if a.DropEvents > w.drop {
		w.drop, w.random = a.DropEvents, rand.New(rand.NewPCG(a.random.Uint64(), a.random.Uint64()))
	}
	w.noEnd = w.noEnd || a.NoInitialEventsEnd
	w.noWatchList = w.noWatchList || a.NoWatchList
	w.ignoreWatchList = w.ignoreWatchList || a.IgnoreWatchList
}

// before waits as long as the request is delayed; false means that the client
// or the server has gone.
func (p faultPlan) before(ctx context.Context, done <-chan struct{}) bool {
	return p.delay == 0 || sleep(ctx, done, p.delay)
}

// suppresses says whether an event gets lost.
func (w *watchFaults) suppresses(e event) bool {
	if e.kind == watch.Bookmark {
		return e.ends && w.noEnd
	}
	return w.random != nil && w.random.Float64() < w.drop
}

func failure(code int32, reason metav1.StatusReason, message string) *metav1.Status {
	return &metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message}
}

// Conflict is the answer to an update that lost a race.
func Conflict() *metav1.Status {
	return failure(http.StatusConflict, metav1.StatusReasonConflict, "Operation cannot be fulfilled: "+modified)
}

// NotFound is the answer if there's no such object. The server puts in the name that the request
// has, as the real one does.
func NotFound() *metav1.Status {
	s := failure(http.StatusNotFound, metav1.StatusReasonNotFound, "not found: injected fault")
	s.Details = &metav1.StatusDetails{}
	return s
}

// named puts the name that a request is about into a NotFound that lacks one.
func named(status *metav1.Status, r Request) metav1.Status {
	out := *status
	if out.Reason == metav1.StatusReasonNotFound && out.Details != nil && out.Details.Name == "" {
		out.Details = out.Details.DeepCopy()
		out.Details.Group, out.Details.Kind, out.Details.Name = r.Group, r.Resource, r.Name
	}
	return out
}

// Expired is the answer to a list or watch from a forgotten version. A watch
// gets it as an HTTP error, which real servers send too, though rarely.
func Expired() *metav1.Status {
	return failure(http.StatusGone, metav1.StatusReasonExpired, "too old resource version")
}

// TooManyRequests is the answer of an overloaded server.
func TooManyRequests(retryAfterSeconds int32) *metav1.Status {
	s := failure(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "too many requests, please try again later")
	s.Details = &metav1.StatusDetails{RetryAfterSeconds: retryAfterSeconds}
	return s
}

// InternalError is the answer of a server whose storage failed.
func InternalError() *metav1.Status {
	return failure(http.StatusInternalServerError, metav1.StatusReasonInternalError, "Internal error occurred: injected fault")
}

// Unavailable is the answer of a server that is starting or stopping.
func Unavailable() *metav1.Status {
	return failure(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, "the server is currently unable to handle the request")
}

// Timeout is the answer of a server that gave up on a request.
func Timeout() *metav1.Status {
	return failure(http.StatusGatewayTimeout, metav1.StatusReasonTimeout, "Timeout: request did not complete within the allotted timeout")
}

// Forbidden is the answer to a client without permission.
func Forbidden() *metav1.Status {
	return failure(http.StatusForbidden, metav1.StatusReasonForbidden, "forbidden: injected fault")
}
