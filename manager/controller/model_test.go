package controller

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/workqueue"
)

// world is what a controller has promised so far, written down by everybody who deals with it:
// for each request, what must still lead to a look.
type world struct {
	seed uint64

	mu       sync.Mutex // guards all below
	requests map[reconcile.Request]*promise
	limit    int  // MaxRetries
	calm     bool // all reconciles succeed
	stopped  bool // none may begin
	broken   []string
	did      exercised
}

// promise is the state of one request.
type promise struct {
	calls    int
	running  bool
	added    bool      // an add that no look has answered
	alarm    time.Time // a look is due then; zero for none. Of several the earliest counts.
	failures int       // as the rate limiter counts them
	retries  int       // of errors in a row, which MaxRetries limits
	waitsFor reconcile.ObjectRef
}

// exercised counts what the test has seen. A test that saw little proves little.
type exercised struct {
	looks, errors, panics, goexits, terminal, requeues, delays, givenUp    int
	newWaits, oldWaits, otherWaits, woken, addedWhileHeld, cutOff, drained int
	sourcesRemoved, stoppedWithWork, readyLate, fourWorkers                int
}

var (
	modelBackoff  = workqueue.Exponential[reconcile.Request]{Base: 5 * time.Millisecond, Limit: time.Second}
	modelRefs     = []reconcile.ObjectRef{secret, certificate, {Kind: "Node", Name: "n1"}}
	modelFallback = 10 * time.Minute
	modelGrace    = 700 * time.Millisecond
)

func (w *world) of(r reconcile.Request) *promise {
	if w.requests[r] == nil {
		w.requests[r] = &promise{}
	}
	return w.requests[r]
}

// adding is called before an add, with the delay.
func (w *world) adding(r reconcile.Request, after time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.addingLocked(w.of(r), after)
}

func (w *world) addingLocked(p *promise, after time.Duration) {
	if !p.alarm.IsZero() && !p.alarm.After(time.Now()) { // it has gone off
		p.added, p.alarm = true, time.Time{}
	}
	if after <= 0 {
		p.added = true
		if p.running {
			w.did.addedWhileHeld++
		}
	} else if due := time.Now().Add(after); p.alarm.IsZero() || due.Before(p.alarm) {
		p.alarm = due
	}
}

// waking is called before a wake-up.
func (w *world) waking(ref reconcile.ObjectRef) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.requests {
		if p.waitsFor == ref {
			w.addingLocked(p, 0)
			w.did.woken++
		}
	}
}

// begins is called when a reconcile begins, and returns the choices for this call.
func (w *world) begins(r reconcile.Request) *rand.Rand {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.of(r)
	if p.running {
		w.broken = append(w.broken, fmt.Sprintf("two workers reconcile %s at a time", r))
	}
	if w.stopped {
		w.broken = append(w.broken, fmt.Sprintf("the reconcile of %s begins after the stop", r))
	}
	p.running, p.added = true, false
	if !p.alarm.IsZero() && !p.alarm.After(time.Now()) {
		p.alarm = time.Time{}
	}
	p.calls++
	w.did.looks++
	return rand.New(rand.NewPCG(w.seed, uint64(r.Name[0])<<32+uint64(p.calls)))
}

// ends is called when a reconcile ends, and decides how. What it promises here is what the table
// of reconcile.Reconciler says.
func (w *world) ends(r reconcile.Request, choice *rand.Rand) (result reconcile.Result, panics func(), err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.of(r)
	p.running = false
	waited := p.waitsFor
	p.waitsFor = reconcile.ObjectRef{}
	limited := func() {
		w.addingLocked(p, min(modelBackoff.Base<<p.failures, modelBackoff.Limit))
		p.failures++
	}
	retry := func() {
		p.waitsFor = waited // an error ends no wait
		if w.limit > 0 && p.retries >= w.limit {
			p.failures, p.retries = 0, 0
			w.did.givenUp++
			return
		}
		limited()
		p.retries++
	}
	good := func() { p.failures, p.retries = 0, 0 }
	n := choice.IntN(20)
	if w.calm {
		n = 0
	}
	switch {
	case n < 8:
		good()
	case n < 11:
		retry()
		w.did.errors++
		err = errBroken
	case n == 11:
		retry()
		w.did.panics++
		panics = func() { panic("a bug") }
	case n == 12:
		retry()
		w.did.goexits++
		panics = runtime.Goexit
	case n == 13:
		good()
		w.did.terminal++
		err = errPermanent
	case n == 14:
		limited()
		w.did.requeues++
		result.Requeue = true
	case n < 17:
		good()
		w.did.delays++
		result.RequeueAfter = time.Duration(choice.IntN(int(5 * time.Second)))
		w.addingLocked(p, max(result.RequeueAfter, 1))
	default:
		p.waitsFor = modelRefs[choice.IntN(len(modelRefs))]
		err = reconcile.WaitFor(p.waitsFor)
		switch {
		case p.waitsFor == waited:
			good()
			w.did.oldWaits++
			w.addingLocked(p, modelFallback)
		case waited == reconcile.ObjectRef{}:
			p.retries = 0
			w.did.newWaits++
			w.addingLocked(p, 0)
		default:
			p.retries = 0
			w.did.otherWaits++
			limited()
		}
	}
	if choice.IntN(4) == 0 {
		result.Priority = new(choice.IntN(3) - 1)
	}
	return result, panics, err
}

// reconcile is the reconciler: it takes a while, and ends somehow.
func (w *world) reconcile(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
	choice := w.begins(r)
	select {
	case <-time.After(time.Duration(1 + choice.IntN(int(30*time.Millisecond)<<choice.IntN(6)))):
	case <-ctx.Done():
		w.mu.Lock()
		w.did.cutOff++
		w.mu.Unlock()
	}
	result, panics, err := w.ends(r, choice)
	if panics != nil {
		panics()
	}
	return result, err
}

// late are the requests for which a look is overdue.
func (w *world) late() (late []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, name := range modelNames {
		if p := w.requests[req(name)]; p != nil && (p.running || p.added || !p.alarm.IsZero() && p.alarm.Before(time.Now())) {
			late = append(late, fmt.Sprintf("%s: %+v", name, *p))
		}
	}
	return late
}

var modelNames = []string{"a", "b", "c", "d", "e", "f", "g"}

// modelSource adds requests at random moments until its context ends.
type modelSource struct {
	w       *world
	choice  *rand.Rand // used by its goroutine alone
	syncs   time.Duration
	running sync.WaitGroup
}

func (s *modelSource) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	s.running.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(time.Duration(1 + s.choice.IntN(int(300*time.Millisecond)))):
				r := req(modelNames[s.choice.IntN(len(modelNames))])
				s.w.adding(r, 0)
				queue.Add(r)
			}
		}
	})
	return nil
}

func (s *modelSource) WaitForSync(ctx context.Context) error {
	select {
	case <-time.After(s.syncs):
	case <-ctx.Done():
	}
	return ctx.Err()
}

func (s *modelSource) WaitForStop() { s.running.Wait() }

// Whatever happens, and in whatever order: no request is reconciled twice at a time, none is
// forgotten, and a stop ends in time and leaves no goroutine.
func TestAControllerKeepsItsPromises(t *testing.T) {
	seeds := 150
	if testing.Short() {
		seeds = 30
	}
	var did exercised
	for seed := range seeds {
		ok := t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { playModel(t, uint64(seed), &did) })
		})
		if !ok {
			return // one story is enough
		}
	}
	t.Logf("%+v", did)
	few := seeds / 20
	for _, count := range []int{
		did.looks / 100, did.errors, did.panics, did.goexits, did.terminal, did.requeues, did.delays, did.givenUp,
		did.newWaits, did.oldWaits, did.otherWaits, did.woken, did.addedWhileHeld, did.cutOff, did.drained,
		did.sourcesRemoved, did.stoppedWithWork, did.readyLate, did.fourWorkers,
	} {
		require.GreaterOrEqual(t, count, few, "the test exercises too little: %+v", did)
	}
}
