package controller_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/tests/race"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/reconcile"
)

var (
	mirrorSeed  = flag.Int64("mirror.seed", -1, "play only this seed of TestWhateverBreaksTheChildrenAreRight")
	mirrorSeeds = flag.Uint64("mirror.seeds", 300, "how many seeds of it to play")
)

// mirrorWorld is an API server, its users, and the processes that run the mirror.
type mirrorWorld struct {
	t         *testing.T
	seed      uint64
	choice    *rand.Rand // of the test's goroutine
	server    *fakeapi.Server
	clients   *kubernetes.Clientset
	users     *users
	faults    []func()         // lift those that are in force
	processes []*mirrorProcess // that run
	stopped   []*mirrorProcess
	started   int

	mu     sync.Mutex // guards the rest
	broken []string   // promises
	did    map[string]int
}

func (w *mirrorWorld) count(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.did[what]++
}

func (w *mirrorWorld) breaks(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.broken = append(w.broken, fmt.Sprintf(format, args...))
}

// isThere says what the server knows about a child that was written.
func (w *mirrorWorld) isThere(o client.Object) bool {
	found, err := w.users.secrets.Get(w.t.Context(), o.GetName(), metav1.GetOptions{})
	return err == nil && found.UID == o.GetUID()
}

// isBusy reports whether a parent is being reconciled.
func (w *mirrorWorld) isBusy(name string) bool {
	return slices.ContainsFunc(w.processes, func(p *mirrorProcess) bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.running[reconcile.Request{NamespacedName: client.ObjectKey{Namespace: mirrorNamespace, Name: name}}]
	})
}

// Users make, change and delete ConfigMaps, and do what they like to the Secrets that are made for
// them. Requests fail, watches break, and the controller is stopped and started. When all of that is
// over, each ConfigMap has the Secrets that it should have. Meanwhile no request is reconciled twice
// at a time, none is forgotten, a stop is in time, and nothing is left when the bubble ends.
func TestWhateverBreaksTheChildrenAreRight(t *testing.T) {
	seeds := *mirrorSeeds
	if testing.Short() {
		seeds = min(seeds, 60)
	}
	did := map[string]int{}
	for seed := range race.Seeds(seeds, *mirrorSeed) {
		if !t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { playMirror(t, seed, did) })
		}) {
			// The order of goroutines is not in the seed, so it may take more than one try.
			t.Logf("again: go test -count=20 -run TestWhateverBreaksTheChildrenAreRight ./manager/controller -mirror.seed=%d", seed)
			return // one story is enough
		}
	}
	if played := race.Fewer(seeds); *mirrorSeed < 0 && !t.Failed() && played >= 60 {
		requireExercised(t, did, int(played))
	}
}

// mirrorExercises are what must have happened, and in how many of 100 seeds. A test that saw little
// proves little.
var mirrorExercises = []struct {
	what string
	of   int
}{
	{"reconciles", 3000}, {"failed", 800}, {"conflicts", 100}, {"timed out", 1},
	{"creates", 1000}, {"updates", 300}, {"deletes", 1000}, {"reads after a write", 1000},
	{"created what it had not seen", 100}, {"looks again later", 1000}, {"tombstones", 20},
	{"a parent was deleted while it was reconciled", 20}, {"stopped while it reconciled", 20}, {"stopped before it was up", 3},
	{"took over before the other has stopped", 50}, {"stops", 150}, {"did not come up", 50},
	{"list or watch failed", 200}, {"sent: list", 70}, {"sent: watch", 800},
	{"fault: refused", 100}, {"fault: answer lost", 100}, {"fault: answer to a write lost", 20}, {"fault: conflict", 20},
	{"fault: expired", 10}, {"fault: too many requests", 100}, {"fault: internal error", 80}, {"fault: unavailable", 80},
	{"fault: time-out", 20}, {"fault: slow", 60}, {"fault: slow write", 10}, {"fault: no answer", 10},
	{"fault: watch cut", 100}, {"fault: watch cut in time", 80}, {"fault: watch late", 60}, {"fault: list stale", 1},
	{"fault: no WatchList", 60}, {"fault: no end of the initial events", 40},
	{"users give a child away", 50}, {"users orphan a child", 30}, {"users replace a parent", 80}, {"users keep a child", 30},
}

func requireExercised(t *testing.T, did map[string]int, seeds int) {
	for _, what := range slices.Sorted(maps.Keys(did)) {
		t.Logf("%7d  %s", did[what], what)
	}
	for _, e := range mirrorExercises {
		require.GreaterOrEqual(t, did[e.what], e.of*seeds/100, "the test exercises too little: %s", e.what)
	}
}

func playMirror(t *testing.T, seed uint64, did map[string]int) {
	server := fakeapi.New(fakeapi.Options{Seed: seed, NoManagedFields: true})
	defer server.Close()
	clients, err := kubernetes.NewForConfig(server.Config())
	require.NoError(t, err)
	_, err = clients.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: mirrorNamespace}}, metav1.CreateOptions{})
	require.NoError(t, err)
	choice := rand.New(rand.NewPCG(seed, 0x6d6972726f72))
	w := &mirrorWorld{t: t, seed: seed, choice: choice, server: server, clients: clients, did: did}
	w.users = &users{t: t, choice: choice, count: w.count, busy: w.isBusy, configMaps: clients.CoreV1().ConfigMaps(mirrorNamespace), secrets: clients.CoreV1().Secrets(mirrorNamespace)}
	defer w.stopAll()

	// Each request takes a moment. Otherwise two processes that see different things would undo each
	// other's work without any time passing, and the bubble's clock would stand still.
	server.Inject(fakeapi.Fault{Match: fakeapi.Match{UserAgent: "mirror-"}, Delay: 10 * time.Millisecond})
	w.start()
	for range 60 {
		w.disturb()
		w.users.act()
	}
	w.settle()
	right, real := w.users.compare()
	last := w.processes[0]
	w.stopAll()
	time.Sleep(time.Minute)
	w.checkSilence()
	if !slices.Equal(right, real) || len(w.broken) > 0 {
		t.Log(last.story())
	}
	require.Equal(t, right, real, "seed %d: the children", seed)
	require.Empty(t, w.broken, "seed %d", seed)
}

// disturb lets something happen to the server or the processes, and time pass.
func (w *mirrorWorld) disturb() {
	switch w.choice.IntN(20) {
	case 0, 1, 2:
		m := somethingGoesWrong(w.choice)
		m.fault.Seed, m.fault.Match.UserAgent = w.choice.Uint64(), "mirror-"
		m.fault.OnHit = func(fakeapi.Request) { w.count("fault: " + m.name) }
		w.faults = append(w.faults, w.server.Inject(m.fault))
	case 3, 4:
		if len(w.faults) > 0 {
			w.faults[0]()
			w.faults = w.faults[1:]
		}
	case 5:
		w.server.CompactAll()
	case 6:
		if len(w.processes) > 0 {
			w.stop(w.choice.IntN(len(w.processes)))
		}
	case 7, 8:
		if len(w.processes) < 2 {
			if len(w.processes) == 1 {
				w.count("took over before the other has stopped")
			}
			w.start()
		}
	case 9, 10, 11, 12, 13:
		time.Sleep(time.Duration(w.choice.IntN(300)) * time.Millisecond)
	case 14, 15, 16:
		time.Sleep(time.Duration(w.choice.IntN(10_000)) * time.Millisecond)
	}
}

func (w *mirrorWorld) stop(i int) {
	var cause error
	if w.choice.IntN(4) == 0 {
		cause = controller.ErrStopNow
	}
	p := w.processes[i]
	w.processes = slices.Delete(w.processes, i, i+1)
	p.stop(cause)
	w.stopped = append(w.stopped, p)
	w.count("stops")
}

// settle ends all disturbance, and gives the mirror time. In the end one process runs.
func (w *mirrorWorld) settle() {
	for _, lift := range w.faults {
		lift()
	}
	for len(w.processes) > 1 {
		w.stop(0)
	}
	if len(w.processes) == 0 {
		w.start()
	}
	for w.users.kept() {
		w.users.release()
	}
	// A process that was served a stale list catches up with the watch from there.
	time.Sleep(20 * time.Minute)
	synctest.Wait()
	p := w.processes[0]
	p.mu.Lock()
	looks := p.looks
	for r, why := range p.owed {
		w.breaks("%s has forgotten %s: %s", p.agent, r, why)
	}
	p.mu.Unlock()
	time.Sleep(5 * time.Minute)
	synctest.Wait()
	p.mu.Lock()
	if p.looks != looks {
		w.breaks("%s has reconciled %d times in the calm", p.agent, p.looks-looks)
	}
	p.mu.Unlock()
}

func (w *mirrorWorld) stopAll() {
	for len(w.processes) > 0 {
		w.stop(0)
	}
}

// checkSilence checks that nobody who has stopped goes on, and counts what was asked of the server.
func (w *mirrorWorld) checkSilence() {
	for _, p := range w.stopped {
		if late := len(p.requests()) - p.sent; late > 0 {
			w.breaks("%s has sent %d requests after it has stopped", p.agent, late)
		}
	}
	for _, r := range w.server.Requests(fakeapi.Match{UserAgent: "mirror-"}) {
		w.count("sent: " + r.Verb)
	}
}
