package controller_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/predicate"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/trace"
	"github.com/loopwright/loopwright/workqueue"
)

// mirrorProcess runs the mirror with random options, starts it again if it does not come up, and
// watches that the library keeps its promises.
type mirrorProcess struct {
	w        *mirrorWorld
	agent    string // of its requests
	options  mirrorOptions
	slowest  time.Duration // how long the predicates take for an event, at most
	recorder *trace.Recorder
	cancel   context.CancelCauseFunc
	done     chan struct{} // closed by its goroutine, at the end
	sent     int           // how many requests it has sent when it has stopped

	mu      sync.Mutex // guards the rest
	pauses  *rand.Rand
	running map[reconcile.Request]bool
	owed    map[reconcile.Request]string // looks that must come, and why
	looks   int
	ended   bool
}

// start starts a process.
func (w *mirrorWorld) start() {
	w.started++
	p := &mirrorProcess{
		w: w, agent: fmt.Sprintf("mirror-%d.", w.started), recorder: trace.New(4000), done: make(chan struct{}),
		pauses: rand.New(rand.NewPCG(w.seed, w.choice.Uint64())),
	}
	if w.choice.IntN(3) == 0 {
		p.slowest = time.Duration(w.choice.IntN(int(2 * time.Second)))
	}
	p.options = mirrorOptions{
		consistent: w.choice.IntN(2) == 0,
		client:     func(c client.Client) client.Client { return &mirrorClient{Client: c, p: p} },
		reconciler: p.watched,
		events:     predicate.Funcs{CreateFunc: p.created, UpdateFunc: p.updated, DeleteFunc: p.deleted},
		cache:      cache.Options{Recorder: p.recorder, DefaultWatchErrorHandler: func(context.Context, *clientgo.Reflector, error) { w.count("list or watch failed") }},
		controller: controller.Options{
			MaxConcurrentReconciles: 1 + w.choice.IntN(4),
			SkipNameValidation:      new(true), // one may start before the other has ended
			UsePriorityQueue:        new(w.choice.IntN(3) > 0),
			GracePeriod:             []time.Duration{-1, 500 * time.Millisecond, 5 * time.Second}[w.choice.IntN(3)],
			DrainOnStop:             w.choice.IntN(4) == 0,
			ReconciliationTimeout:   30 * time.Second,
			RateLimiter:             &workqueue.Exponential[reconcile.Request]{Limit: 20 * time.Second},
			LogConstructor:          func(*reconcile.Request) logr.Logger { return logr.Discard() },
			Recorder:                p.recorder, Kind: "ConfigMap",
		},
	}
	if w.choice.IntN(3) == 0 {
		p.options.cache.DefaultNamespaces = map[string]cache.Config{mirrorNamespace: {}, "default": {}}
	}
	if w.choice.IntN(3) == 0 {
		p.options.cache.DefaultUnsafeDisableDeepCopy = new(true)
	}
	if w.choice.IntN(4) == 0 {
		p.options.cache.SyncPeriod = new(20 * time.Second)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	p.cancel = cancel
	go func() {
		defer close(p.done)
		for ctx.Err() == nil {
			p.run(ctx)
		}
	}()
	w.processes = append(w.processes, p)
}

// run is one life of the process.
func (p *mirrorProcess) run(ctx context.Context) {
	p.mu.Lock()
	p.owed = map[reconcile.Request]string{}
	p.running = map[reconcile.Request]bool{}
	p.mu.Unlock()
	config := p.w.server.Config()
	config.UserAgent = p.agent
	err := runMirror(ctx, config, p.options)
	switch {
	case ctx.Err() == nil && err == nil:
		p.w.breaks("%s has ended, and nobody has asked for that", p.agent)
	case ctx.Err() == nil:
		p.w.count("did not come up")
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	case err != nil:
		p.w.count("stopped before it was up")
	}
}

// stop ends the process, and checks that it keeps to its time and leaves nothing behind.
func (p *mirrorProcess) stop(cause error) {
	p.mu.Lock()
	busy, up := len(p.running) > 0, p.looks > 0
	p.mu.Unlock()
	grace := max(p.options.controller.GracePeriod, 0)
	if errors.Is(cause, controller.ErrStopNow) {
		grace = 0
	}
	if busy {
		p.w.count("stopped while it reconciled")
	}
	began := time.Now()
	p.cancel(cause)
	<-p.done
	if took := time.Since(began); up && took > grace+p.slowest {
		p.w.breaks("%s took %s to stop, and has a grace period of %s", p.agent, took, grace)
	}
	synctest.Wait() // what was just sent has come to the server
	p.sent = len(p.requests())
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	if len(p.running) > 0 {
		p.w.breaks("%s has stopped, and its reconciles go on: %v", p.agent, p.running)
	}
}

// requests are those that have come to the server.
func (p *mirrorProcess) requests() []fakeapi.Request {
	return p.w.server.Requests(fakeapi.Match{UserAgent: p.agent})
}

// story is the end of what the flight recorder has.
func (p *mirrorProcess) story() string {
	var text strings.Builder
	events := slices.DeleteFunc(p.recorder.Events(), func(e trace.Event) bool { return e.Kind == trace.Bookmark })
	_ = trace.Timeline{}.Write(&text, events[max(0, len(events)-150):])
	return text.String()
}

// watched is the reconciler with a witness.
func (p *mirrorProcess) watched(do reconcile.Reconciler) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, r reconcile.Request) (result reconcile.Result, err error) {
		p.begins(r)
		defer func() { p.ends(r, result, err) }()
		return do.Reconcile(ctx, r)
	})
}

func (p *mirrorProcess) begins(r reconcile.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running[r] {
		p.w.breaks("two workers of %s reconcile %s at a time", p.agent, r)
	}
	if p.ended {
		p.w.breaks("%s reconciles %s after it has stopped", p.agent, r)
	}
	p.running[r] = true
	delete(p.owed, r)
	p.looks++
	p.w.count("reconciles")
}

func (p *mirrorProcess) ends(r reconcile.Request, result reconcile.Result, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.running, r)
	switch {
	case err != nil:
		p.owed[r] = err.Error()
		p.w.count("failed")
		if apierrors.IsConflict(err) {
			p.w.count("conflicts")
		}
		if apierrors.IsAlreadyExists(err) {
			p.w.count("created what it had not seen")
		}
		if errors.Is(err, context.DeadlineExceeded) {
			p.w.count("timed out")
		}
	case result.RequeueAfter > 0:
		p.owed[r] = "RequeueAfter"
		p.w.count("looks again later")
	}
}

// created, updated and deleted are predicates that let everything through, and write down which
// requests the handlers must make of it.
func (p *mirrorProcess) created(e event.CreateEvent) bool { return p.told("created", e.Object) }
func (p *mirrorProcess) deleted(e event.DeleteEvent) bool {
	if e.DeleteStateUnknown {
		p.w.count("tombstones")
	}
	return p.told("deleted", e.Object)
}
func (p *mirrorProcess) updated(e event.UpdateEvent) bool {
	if e.ObjectOld.GetUID() != e.ObjectNew.GetUID() {
		p.w.breaks("an update turns %s into another object", e.ObjectNew.GetName())
	}
	return p.told("updated", e.ObjectOld, e.ObjectNew)
}

func (p *mirrorProcess) told(what string, objects ...client.Object) bool {
	p.mu.Lock()
	pause := time.Duration(p.pauses.Int64N(int64(p.slowest) + 1))
	p.mu.Unlock()
	if pause > 0 {
		time.Sleep(pause)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, o := range objects {
		names := nameOfController(o)
		if isParent(o) {
			names = []string{o.GetName()}
		}
		for _, name := range names {
			r := reconcile.Request{NamespacedName: client.ObjectKey{Namespace: o.GetNamespace(), Name: name}}
			p.owed[r] = what + " " + o.GetName()
		}
	}
	return true
}

// mirrorClient checks that a read sees what was written before, if the client has promised that.
type mirrorClient struct {
	client.Client
	p *mirrorProcess
}

func (c *mirrorClient) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	return c.checked(ctx, "creates", o, c.Client.Create(ctx, o, opts...))
}

func (c *mirrorClient) Update(ctx context.Context, o client.Object, opts ...client.UpdateOption) error {
	return c.checked(ctx, "updates", o, c.Client.Update(ctx, o, opts...))
}

func (c *mirrorClient) Delete(ctx context.Context, o client.Object, opts ...client.DeleteOption) error {
	return c.checked(ctx, "deletes", o, c.Client.Delete(ctx, o, opts...))
}

func (c *mirrorClient) checked(ctx context.Context, what string, o client.Object, err error) error {
	c.p.w.count(what)
	if err != nil || !c.p.options.consistent {
		return err
	}
	found := o.DeepCopyObject().(client.Object)
	read := c.Get(ctx, client.ObjectKeyFromObject(o), found)
	if client.IgnoreNotFound(read) != nil {
		return nil // its time was over, for instance
	}
	c.p.w.count("reads after a write")
	same := read == nil && found.GetUID() == o.GetUID()
	switch {
	case what == "deletes" && same && found.GetDeletionTimestamp() == nil:
		c.p.w.breaks("%s has deleted %s, and reads that it is there", c.p.agent, o.GetName())
	case what != "deletes" && same && version(found) < version(o):
		c.p.w.breaks("%s has written version %d of %s, and reads version %d", c.p.agent, version(o), o.GetName(), version(found))
	case what != "deletes" && !same && c.p.w.isThere(o):
		c.p.w.breaks("%s has written %s, and reads that it is not there", c.p.agent, o.GetName())
	}
	return nil
}

func version(o client.Object) int { n, _ := strconv.Atoi(o.GetResourceVersion()); return n }
