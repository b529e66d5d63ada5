package replicaset

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/controllers"
	"github.com/loopwright/loopwright/controllers/internal/podstate"
	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/config"
	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/metrics/server"
)

// simulation is an API server, its users, a kubelet, the controller's process, and a judge who watches.
type simulation struct {
	t      *testing.T
	server *fakeapi.Server
	live   client.WithWatch // of users, kubelet and judge
	users  *rand.Rand       // for what users do; the same with faults and without
	faults *rand.Rand
	wild   bool
	lifts  []func()           // of the faults in force
	blinds []func()           // of those that may keep the controller from watching
	stop   context.CancelFunc // of kubelet and judge
	others sync.WaitGroup     // kubelet and judge

	mu      sync.Mutex // guards the rest
	process *simulatedProcess
	old     []*simulatedProcess
	ended   bool
	did     map[string]int
	tale    []string
	broken  []string
	seen    []observed
}

func newSimulation(t *testing.T, seed uint64, wild bool, did map[string]int) *simulation {
	s := &simulation{t: t, wild: wild, did: did, users: rand.New(rand.NewPCG(seed, 1)), faults: rand.New(rand.NewPCG(seed, 2))}
	s.server = fakeapi.New(fakeapi.Options{Seed: seed, NoManagedFields: true, WatchTimeout: 10_000 * time.Hour})
	var err error
	s.live, err = client.NewWithWatch(s.server.Config(), client.Options{})
	require.NoError(t, err)
	// Each request takes a moment, so that the bubble's clock moves on whatever the controller does.
	s.server.Inject(fakeapi.Fault{Match: fakeapi.Match{UserAgent: agent}, Delay: 10 * time.Millisecond})
	if wild { // what is wrong with watches hits those that begin
		s.lifts = append(s.lifts, s.server.Inject(fakeapi.Fault{Match: fakeapi.Match{UserAgent: agent, Verb: "watch"}, CutAfter: 3 * time.Minute}))
	}
	return s
}

func (s *simulation) count(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.did[what]++
}

func (s *simulation) tell(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tellLocked(format, args...)
}

const clockFormat = "15:04:05.000"

func (s *simulation) tellLocked(format string, args ...any) {
	s.tale = append(s.tale, time.Now().UTC().Format(clockFormat)+" "+fmt.Sprintf(format, args...))
}

func (s *simulation) breaks(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = append(s.broken, fmt.Sprintf(format, args...))
}

// simulatedProcess is the controller's process. When it has crashed, no request of it reaches the server.
type simulatedProcess struct {
	next    http.RoundTripper
	crashed atomic.Bool
	stop    context.CancelFunc
	running sync.WaitGroup
}

var errCrashed = errors.New("the process has crashed")

// RoundTrip implements http.RoundTripper.
func (p *simulatedProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	if p.crashed.Load() {
		return nil, errCrashed
	}
	response, err := p.next.RoundTrip(r)
	if p.crashed.Load() && err == nil {
		response.Body.Close()
		return nil, errCrashed
	}
	return response, err
}

// startProcess starts the process. One that does not come up is started again, as a kubelet does it.
func (s *simulation) startProcess() {
	p := &simulatedProcess{}
	mgr, err := s.newManager(p)
	for ; err != nil; mgr, err = s.newManager(p) {
		s.count("did not come up")
		time.Sleep(time.Second)
	}
	s.mu.Lock() // nothing waits below for another goroutine, or the bubble's clock would stand still
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	var ctx context.Context
	ctx, p.stop = context.WithCancel(context.Background())
	p.running.Go(func() {
		if err := mgr.Start(ctx); err != nil && !p.crashed.Load() && ctx.Err() == nil {
			s.count("ended")
			s.tell("the process has ended: %v", err)
			s.others.Go(s.startProcess)
		}
	})
	if s.process != nil {
		s.old = append(s.old, s.process)
	}
	s.process = p
}

func (s *simulation) newManager(p *simulatedProcess) (manager.Manager, error) {
	connection := s.server.Config()
	connection.UserAgent = agent
	connection.WrapTransport = func(next http.RoundTripper) http.RoundTripper { p.next = next; return p }
	mgr, err := manager.New(connection, manager.Options{
		Logger: logr.Discard(), Metrics: server.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: new(true)},
	})
	if err != nil {
		return nil, err
	}
	return mgr, Add(mgr, controllers.Options{Controller: controller.Options{GracePeriod: -1}, Probe: controllers.ProbeOptions{Skip: true}})
}

// crashAfter lets the process crash after a write has been carried out. Its successor starts when its lease has run out.
func (s *simulation) crashAfter(verb string, skip int) {
	s.tell("the process will crash after a %s", verb)
	resource := "pods"
	if verb == "patch" && skip%2 == 0 {
		resource = "replicasets" // its status
	}
	s.lifts = append(s.lifts, s.server.Inject(fakeapi.Fault{
		Match: fakeapi.Match{UserAgent: agent, Verb: verb, Resource: resource}, Skip: skip, Times: 1, LoseResponse: true,
		OnHit: func(r fakeapi.Request) {
			s.mu.Lock()
			p := s.process
			if p.crashed.Swap(true) {
				s.mu.Unlock()
				return // two of its requests were on their way
			}
			s.did["crash"]++
			s.did["crash after "+verb]++
			s.tellLocked("crash after: %s", r)
			s.mu.Unlock()
			p.stop()
			s.others.Go(func() {
				time.Sleep(15 * time.Second) // a lease, in which what the dead process has sent arrives
				s.startProcess()
			})
		},
	}))
}

// watchesWork lifts the faults that may keep the controller from watching.
func (s *simulation) watchesWork() {
	s.tell("the watches work")
	for _, lift := range s.blinds {
		lift()
	}
	s.blinds = nil
}

// calm lifts all faults.
func (s *simulation) calm() {
	s.tell("no more faults")
	for _, lift := range s.lifts {
		lift()
	}
	s.lifts = nil
}

// endAll stops everything. It may be called twice.
func (s *simulation) endAll() {
	s.mu.Lock()
	s.ended = true
	processes := append(s.old, s.process)
	s.mu.Unlock()
	for _, p := range processes {
		p.stop()
		p.running.Wait()
	}
	s.stop()
	s.others.Wait()
}

func (s *simulation) createSet(replicas int32) *appsv1.ReplicaSet {
	rs := newReplicaSet(replicas)
	rs.UID, rs.Generation = "", 0
	require.NoError(s.t, s.live.Create(s.t.Context(), rs))
	return rs
}

// list returns all Pods, in the order of their names.
func (s *simulation) list() []*corev1.Pod {
	var list corev1.PodList
	require.NoError(s.t, s.live.List(context.Background(), &list))
	pods := make([]*corev1.Pod, len(list.Items))
	for i := range list.Items {
		pods[i] = &list.Items[i]
	}
	return pods
}

// state is what users see in the end.
func (s *simulation) state() string {
	rs := newReplicaSet(0)
	require.NoError(s.t, s.live.Get(s.t.Context(), client.ObjectKeyFromObject(rs), rs))
	owned, orphans := 0, 0
	for _, pod := range s.list() {
		if podstate.IsActive(pod) && pod.Labels["app"] == "web" {
			if metav1.IsControlledBy(pod, rs) {
				owned++
			} else {
				orphans++
			}
		}
	}
	status := rs.Status
	return fmt.Sprintf("wanted %d, owned %d, orphans %d; status: generation %t, replicas %d, labelled %t, ready %d, available %d, terminating %d, conditions %v",
		*rs.Spec.Replicas, owned, orphans, status.ObservedGeneration == rs.Generation, status.Replicas, status.FullyLabeledReplicas <= status.Replicas,
		status.ReadyReplicas, status.AvailableReplicas, *status.TerminatingReplicas, status.Conditions)
}

func isWrite(r fakeapi.Request) bool {
	return slices.Contains([]string{"create", "update", "patch", "delete"}, r.Verb) && r.Resource != "events"
}
