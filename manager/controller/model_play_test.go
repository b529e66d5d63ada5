package controller

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/manager/controller/priorityqueue"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/workqueue"
)

// player does things to a controller at random.
type player struct {
	*running
	w       *world
	choice  *rand.Rand
	queue   priorityqueue.PriorityQueue[reconcile.Request]
	sources []*modelSource
}

// playModel is one seed: a controller with random options, some seconds of random deeds, a calm in
// which everything that was promised must happen, and a stop in the middle of more deeds.
func playModel(t *testing.T, seed uint64, did *exercised) {
	choice := rand.New(rand.NewPCG(seed, 0))
	w := &world{seed: seed, requests: map[reconcile.Request]*promise{}, limit: choice.IntN(2) * 3, did: *did}
	options := Options{
		Reconciler:              reconcile.Func(w.reconcile),
		MaxConcurrentReconciles: 1 + choice.IntN(4),
		MaxRetries:              w.limit,
		RateLimiter:             &workqueue.Exponential[reconcile.Request]{Base: modelBackoff.Base, Limit: modelBackoff.Limit},
		WaitFallback:            modelFallback,
		GracePeriod:             modelGrace,
		DrainOnStop:             choice.IntN(2) == 0,
	}
	queueKinds[choice.IntN(len(queueKinds))].use(&options)
	if options.MaxConcurrentReconciles == 4 {
		w.did.fourWorkers++
	}
	p := &player{running: prepare(t, options), w: w, choice: choice}
	p.watch()
	p.begin()
	p.running.waitForWorkers(w)
	p.queue = (<-p.running.queue).(priorityqueue.PriorityQueue[reconcile.Request])

	p.play(150)
	w.mu.Lock()
	w.calm = true
	w.mu.Unlock()
	for len(p.sources) > 0 {
		p.unwatch()
	}
	time.Sleep(time.Minute) // far less than the fallback, which would hide a wake-up that was lost
	synctest.Wait()
	require.Empty(t, w.late(), "looks that were promised have not happened")
	time.Sleep(modelFallback)
	synctest.Wait()
	require.Empty(t, w.late(), "requests that wait have not been looked at")

	w.mu.Lock()
	w.calm = false
	w.mu.Unlock()
	p.watch()
	p.play(choice.IntN(60))
	p.stopNow(options.DrainOnStop)
	require.Empty(t, w.broken)
	*did = w.did
}

// waitForWorkers waits until the sources are ready.
func (r *running) waitForWorkers(w *world) {
	synctest.Wait()
	r.mu.Lock()
	opened := r.opened
	r.mu.Unlock()
	select {
	case <-opened.done:
	default:
		w.did.readyLate++
		<-opened.done
	}
}

func (p *player) play(steps int) {
	for range steps {
		r := req(modelNames[p.choice.IntN(len(modelNames))])
		switch p.choice.IntN(12) {
		case 0, 1, 2:
			p.w.adding(r, 0)
			p.queue.Add(r)
		case 3:
			after := time.Duration(1 + p.choice.IntN(int(time.Second)))
			p.w.adding(r, after)
			p.queue.AddAfter(r, after)
		case 4:
			p.w.adding(r, 0)
			p.queue.AddWithOpts(workqueue.AddOpts{Priority: new(p.choice.IntN(5) - 2)}, r)
		case 5, 6:
			ref := modelRefs[p.choice.IntN(len(modelRefs))]
			p.w.waking(ref)
			p.Wake(ref)
		case 7:
			p.watch()
		case 8:
			if len(p.sources) > 0 {
				p.unwatch()
			}
		default:
			time.Sleep(time.Duration(1 + p.choice.IntN(int(200*time.Millisecond))))
		}
	}
}

func (p *player) watch() {
	s := &modelSource{w: p.w, choice: rand.New(rand.NewPCG(p.w.seed, p.choice.Uint64())), syncs: time.Duration(p.choice.IntN(int(time.Second)))}
	p.sources = append(p.sources, s)
	require.NoError(p.t, p.Watch(s))
}

func (p *player) unwatch() {
	i := p.choice.IntN(len(p.sources))
	s := p.sources[i]
	p.sources = append(p.sources[:i], p.sources[i+1:]...)
	require.NoError(p.t, p.Unwatch(s))
	p.w.mu.Lock()
	p.w.did.sourcesRemoved++
	p.w.mu.Unlock()
}

// stopNow stops the controller, whatever it does at this moment.
func (p *player) stopNow(drains bool) {
	synctest.Wait()
	p.w.mu.Lock()
	p.w.stopped = !drains
	p.w.calm = true // what is added from now on is dropped
	begins, waiting := time.Now(), p.queue.Len()
	p.w.mu.Unlock()
	require.NoError(p.t, p.end())
	took := time.Since(begins)
	require.LessOrEqual(p.t, took, modelGrace+200*time.Millisecond, "the grace period is over, and all reconciles obey their contexts or are short")

	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	if waiting > 0 {
		p.w.did.stoppedWithWork++
	}
	for name, promise := range p.w.requests {
		require.False(p.t, promise.running, "the reconcile of %s goes on", name)
		if drains && took < modelGrace {
			require.False(p.t, promise.added, "%s was not drained: %+v", name, *promise)
		}
	}
	if drains && waiting > 0 && took < modelGrace {
		p.w.did.drained++
	}
}
