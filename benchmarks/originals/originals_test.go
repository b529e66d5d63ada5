package originals

import (
	"context"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/loopwright/loopwright/internal/simulation"
	"github.com/loopwright/loopwright/internal/simulation/stories"
)

// These play seeds for `make simulate ORIGINALS=1`; see internal/simulation/cmd/simulate. As ordinary
// tests they'd fail: that's what the table in docs/bad-days.md is about.

func TestReplicaSet(t *testing.T)     { playSeeds(t, stories.ReplicaSet(process(startReplicaSets))) }
func TestDeployment(t *testing.T)     { playSeeds(t, stories.Deployment(process(startDeployments))) }
func TestEndpoints(t *testing.T)      { playSeeds(t, stories.Endpoints(process(startEndpoints))) }
func TestEndpointSlices(t *testing.T) { playSeeds(t, stories.EndpointSlices(process(startSlices))) }
func TestGarbageCollector(t *testing.T) {
	playSeeds(t, stories.GarbageCollector(process(startGarbage)))
}
func TestElector(t *testing.T)             { playSeeds(t, stories.Elector(elect)) }
func TestElectorOfAKeptLease(t *testing.T) { playSeeds(t, stories.ElectorOfAKeptLease(elect)) }

func playSeeds(t *testing.T, story simulation.Story) {
	if !simulation.IsWorker() {
		t.Skip("make simulate ORIGINALS=1 plays it")
	}
	story.Test(t)
}

// A controller whose client has another UserAgent never meets a mishap, and looks better than it is.
func TestTheMishapsReachTheElector(t *testing.T) {
	var clocks, exits atomic.Int64
	story, met := stories.Elector(func(ctx context.Context, c stories.Candidate) {
		byItsClock, exit := c.ByItsClock, c.Exit
		c.ByItsClock = func(lock resourcelock.Interface) resourcelock.Interface {
			clocks.Add(1)
			return byItsClock(lock)
		}
		c.Exit = func() {
			exits.Add(1)
			exit()
		}
		elect(ctx, c)
	}), map[string]int{}
	for seed := range uint64(30) {
		for what, times := range story.Happens(t, seed) {
			met[what] += times
		}
	}
	for what := range story.Least {
		if strings.HasPrefix(what, "fault: ") {
			require.NotZero(t, met[what], "%s: %v", what, met)
		}
	}
	require.NotZero(t, clocks.Load(), "its clock shows another time")
	require.NotZero(t, exits.Load(), "its work ends when the Lease is lost")
}

// hanging is a server that never answers.
type hanging struct{ requests atomic.Int64 }

func (h *hanging) RoundTrip(r *http.Request) (*http.Response, error) {
	h.requests.Add(1)
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// kube-controller-manager's client waits for an answer for five seconds. If ours waited forever, the table would blame
// client-go for what its user left out.
func TestTheElectorDoesNotWaitForAnAnswerForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		server, ended := &hanging{}, make(chan struct{})
		go func() {
			defer close(ended)
			elect(ctx, stories.Candidate{
				Lock:       &resourcelock.LeaseLock{LockConfig: resourcelock.ResourceLockConfig{Identity: "a"}},
				Connection: &rest.Config{Host: "http://nobody", Transport: server},
				ByItsClock: func(lock resourcelock.Interface) resourcelock.Interface { return lock },
				Lead:       func(context.Context) {}, Exit: func() {},
			})
		}()
		time.Sleep(4 * time.Second)
		require.EqualValues(t, 1, server.requests.Load())
		time.Sleep(6 * time.Second) // a pause is 4.4 s at most
		require.EqualValues(t, 2, server.requests.Load())
		stop()
		<-ended
	})
}

// scene is a Scene, and the promise that Kubernetes' controllers break in it.
type scene struct {
	stories.Scene
	controllers controllers
	broken      simulation.Promise
}

func scenes() (all []scene) {
	add := func(c controllers, scenes []stories.Scene, broken ...simulation.Promise) {
		for i, s := range scenes {
			all = append(all, scene{s, c, broken[i]})
		}
	}
	add(startReplicaSets, stories.ScenesOfReplicaSets(), simulation.NeverMore, simulation.NeverFewer)
	add(startDeployments, stories.ScenesOfDeployments(), simulation.ActedOn)
	add(startEndpoints, stories.ScenesOfEndpoints(), simulation.ActedOn, simulation.Mended)
	add(startSlices, stories.ScenesOfSlices(), simulation.ActedOn, simulation.ActedOn)
	return all
}

// docs/bad-days.md tells these stories of Kubernetes' controllers. If one of them isn't so, with these
// versions, the page says something wrong about them.
func TestTheStoriesOnThePageAreSo(t *testing.T) {
	for _, scene := range scenes() {
		t.Run(scene.Name, func(t *testing.T) {
			broken := scene.Play(t, process(scene.controllers))
			// Chance plays a part: among Pods that are alike, the ReplicaSet controller deletes any.
			for tries := 1; len(broken) == 0 && tries < 20; tries++ {
				broken = scene.Play(t, process(scene.controllers))
			}
			for _, b := range broken {
				t.Log(b)
			}
			require.NotEmpty(t, broken)
			require.Equal(t, scene.broken, broken[0].Promise)
		})
	}
}

// A reader of the page must find each story, and the versions that it's about.
func TestThePageTellsEachStoryAndItsVersions(t *testing.T) {
	page, err := os.ReadFile("../../docs/bad-days.md")
	require.NoError(t, err)
	for _, scene := range scenes() {
		require.Contains(t, strings.Join(strings.Fields(string(page)), " "), "*"+scene.Name+"*")
	}
	module, err := os.ReadFile("go.mod")
	require.NoError(t, err)
	for _, of := range []string{"k8s.io/kubernetes", "k8s.io/client-go =>.*"} {
		version := regexp.MustCompile(of + ` (v[0-9.]+)`).FindSubmatch(module)
		require.NotNil(t, version, of)
		require.Contains(t, string(page), string(version[1]), of)
	}
}
