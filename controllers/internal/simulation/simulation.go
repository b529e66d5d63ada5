// Package simulation lets controllers run in a world in which things go wrong, and writes down what happens.
//
// A World has an API server, users, kubelets, and the process of the controllers, which may crash after a write. A seed
// decides what users do, and another number what goes wrong, so that the same users can be watched twice: in a calm
// world and in a wild one. What both lead to can be compared.
//
// Neighbours: below it is internal/fakeapi. Above it are tests of controllers only; it has to run in a
// testing/synctest bubble.
package simulation

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/client"
)

// Agent is how the server knows the requests of the controllers.
const Agent = "simulated-controllers"

// Options say what a World is like.
type Options struct {
	Seed uint64
	// Wild lets things go wrong. The users do the same in a calm world.
	Wild bool
	// Controllers makes the process: a manager with the controllers.
	Controllers func(*rest.Config) (manager.Manager, error)
	// Did counts what has happened, for all worlds of a test.
	Did map[string]int
}

// World is an API server, users, kubelets, and the process of the controllers.
type World struct {
	T       testing.TB
	Server  *fakeapi.Server
	Live    client.WithWatch // of users and kubelets
	Users   *rand.Rand       // for what users do
	Faults  *rand.Rand       // for what goes wrong
	options Options

	lifts  []func()       // of the faults in force
	blinds []func()       // of those that may keep the controllers from watching
	others sync.WaitGroup // all goroutines but those of processes
	done   chan struct{}  // closed by End

	mu      sync.Mutex // guards the rest
	process *process
	old     []*process
	ended   bool
	tale    []string
	broken  []string
}

// New makes a World in which nothing runs yet. End has to be called.
func New(t testing.TB, options Options) *World {
	w := &World{
		T: t, options: options, done: make(chan struct{}),
		Users: rand.New(rand.NewPCG(options.Seed, 1)), Faults: rand.New(rand.NewPCG(options.Seed, 2)),
		Server: fakeapi.New(fakeapi.Options{Seed: options.Seed, NoManagedFields: true, WatchTimeout: 10_000 * time.Hour}),
	}
	var err error
	if w.Live, err = client.NewWithWatch(w.Server.Config(), client.Options{}); err != nil {
		t.Fatal(err)
	}
	// Each request takes a moment, so that the bubble's clock moves on whatever the controllers do.
	w.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{UserAgent: Agent}, Delay: 10 * time.Millisecond})
	if options.Wild { // what is wrong with watches hits those that begin
		w.lifts = append(w.lifts, w.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{UserAgent: Agent, Verb: "watch"}, CutAfter: 3 * time.Minute}))
	}
	return w
}

// Go runs f beside the test. f has to end when Done is closed; End waits for it.
func (w *World) Go(f func()) { w.others.Go(f) }

// Done is closed by End.
func (w *World) Done() <-chan struct{} { return w.done }

// End stops everything, and waits for it. It may be called twice.
func (w *World) End() {
	w.mu.Lock()
	if w.ended {
		w.mu.Unlock()
		return
	}
	w.ended = true
	processes := w.old
	if w.process != nil {
		processes = append(processes, w.process)
	}
	w.mu.Unlock()
	close(w.done)
	for _, p := range processes {
		p.stop()
		p.running.Wait()
	}
	w.others.Wait()
	w.Server.Close()
}

// Count counts what has happened.
func (w *World) Count(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.options.Did[what]++
}

// Tell writes something into the tale.
func (w *World) Tell(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tellLocked(format, args...)
}

const clockFormat = "15:04:05.000"

func (w *World) tellLocked(format string, args ...any) {
	w.tale = append(w.tale, time.Now().UTC().Format(clockFormat)+" "+fmt.Sprintf(format, args...))
}

// Breaks notes that a promise was broken.
func (w *World) Breaks(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.broken = append(w.broken, fmt.Sprintf(format, args...))
	w.tellLocked("BROKEN: "+format, args...)
}

// Broken are the promises that were broken.
func (w *World) Broken() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.broken)
}

// Tale is what has happened, in its order.
func (w *World) Tale() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	tale := slices.Clone(w.tale)
	slices.SortStableFunc(tale, func(a, b string) int { return cmp.Compare(a[:len(clockFormat)], b[:len(clockFormat)]) })
	return strings.Join(tale, "\n")
}

// Writes are the requests of the controllers that have changed something, apart from events.
func (w *World) Writes() (writes []fakeapi.Request) {
	for _, r := range w.Server.Requests(fakeapi.Match{UserAgent: Agent}) {
		if slices.Contains([]string{"create", "update", "patch", "delete"}, r.Verb) && r.Resource != "events" {
			writes = append(writes, r)
		}
	}
	return writes
}
