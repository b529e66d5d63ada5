package world_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/playground/world"
)

func TestMain(m *testing.M) {
	// Reconciles fail on purpose here, and say so at length.
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	os.Exit(m.Run())
}

// play is a world that runs in a bubble.
type play struct {
	*testing.T
	*world.World
	ctx context.Context
}

// inWorld runs a test in a world of its own. A goroutine that outlives it fails the test.
func inWorld(t *testing.T, options world.Options, test func(p *play)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w, err := world.New(options)
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		defer func() {
			stop()
			require.NoError(t, <-ended)
		}()
		p := &play{t, w, ctx}
		p.after(2 * time.Second) // the nodes are there
		test(p)
	})
}

func (p *play) after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (p *play) do(err error) {
	p.Helper()
	require.NoError(p, err)
	synctest.Wait()
}

func (p *play) state() world.State {
	p.Helper()
	s, err := p.State(p.ctx)
	require.NoError(p, err)
	return s
}

func (p *play) kubectl(line string) string {
	p.Helper()
	var out bytes.Buffer
	require.NoError(p, p.Kubectl.Run(p.ctx, line, "", &out), line)
	return out.String()
}

// ready are the Pods that are ready and stay, by their image.
func (p *play) ready() map[string]int {
	p.Helper()
	count := map[string]int{}
	for _, pod := range p.state().Pods {
		if pod.Ready && !pod.Going {
			count[pod.Image]++
		}
	}
	return count
}

// A stranger looks at the page for ten seconds.
func TestARolloutEndsWithThePodsItShould(t *testing.T) {
	inWorld(t, world.Options{}, func(p *play) {
		p.do(p.Create(p.ctx, "web", "web:1", 3))
		p.after(10 * time.Second)
		require.Equal(p, map[string]int{"web:1": 3}, p.ready())
		on := map[string]int{}
		for _, pod := range p.state().Pods {
			on[pod.Node]++
		}
		require.Equal(p, map[string]int{"node-1": 1, "node-2": 1, "node-3": 1}, on, "the scheduler spreads them")
		p.do(p.SetImage(p.ctx, "web", "web:2"))
		p.after(20 * time.Second)
		require.Equal(p, map[string]int{"web:2": 3}, p.ready())
		require.Len(p, p.state().Pods, 3)
		require.Len(p, p.state().ReplicaSets, 2)
		d := p.state().Deployments[0]
		require.True(p, d.Observed)
		require.EqualValues(p, []int32{3, 3, 3, 3}, []int32{d.Wanted, d.Pods, d.Updated, d.Available})
		p.do(p.Scale(p.ctx, "web", 5))
		p.after(10 * time.Second)
		require.Equal(p, map[string]int{"web:2": 5}, p.ready())
		p.do(p.Rollback(p.ctx, "web"))
		p.after(20 * time.Second)
		require.Equal(p, map[string]int{"web:1": 5}, p.ready())
	})
}

// The first thing that anybody tries is to break it, and the second to get it back.
func TestABadImageGetsStuckAndIsFixed(t *testing.T) {
	for image, want := range map[string]string{"web:bad": "CrashLoopBackOff", "registry.invalid/web:2": "ImagePullBackOff"} {
		inWorld(t, world.Options{}, func(p *play) {
			p.do(p.Create(p.ctx, "web", "web:1", 4))
			p.after(10 * time.Second)
			p.do(p.SetImage(p.ctx, "web", image))
			p.after(18 * time.Second)
			statuses := map[string]int{}
			for _, pod := range p.state().Pods {
				statuses[pod.Status]++
			}
			require.Equal(p, map[string]int{"Running": 3, want: 2}, statuses, "25 %% of the old ones have gone")
			p.after(11 * time.Minute)
			require.Contains(p, p.state().Deployments[0].Conditions,
				world.Condition{Type: "Progressing", Reason: "ProgressDeadlineExceeded"})
			p.do(p.Rollback(p.ctx, "web"))
			p.after(10 * time.Second)
			require.Equal(p, map[string]int{"web:1": 4}, p.ready())
			require.Len(p, p.state().Pods, 4)
		})
	}
}

func TestAPausedRolloutWaitsUntilItIsResumed(t *testing.T) {
	inWorld(t, world.Options{}, func(p *play) {
		p.do(p.Create(p.ctx, "web", "web:1", 2))
		p.after(5 * time.Second)
		p.do(p.Pause(p.ctx, "web"))
		p.do(p.SetImage(p.ctx, "web", "web:2"))
		p.after(time.Minute)
		require.Equal(p, map[string]int{"web:1": 2}, p.ready())
		p.do(p.Resume(p.ctx, "web"))
		p.after(15 * time.Second)
		require.Equal(p, map[string]int{"web:2": 2}, p.ready())
	})
}

func TestAPodThatIsDeletedIsReplaced(t *testing.T) {
	inWorld(t, world.Options{}, func(p *play) {
		p.do(p.Create(p.ctx, "web", "web:1", 2))
		p.after(5 * time.Second)
		name := p.state().Pods[0].Name
		p.do(p.DeletePod(p.ctx, name))
		p.after(10 * time.Second)
		require.Equal(p, map[string]int{"web:1": 2}, p.ready())
		for _, pod := range p.state().Pods {
			require.NotEqual(p, name, pod.Name)
		}
	})
}

// The moment for which people run Kubernetes at all.
func TestThePodsOfANodeThatDiesMove(t *testing.T) {
	inWorld(t, world.Options{}, func(p *play) {
		p.do(p.Create(p.ctx, "web", "web:1", 3))
		p.after(10 * time.Second)
		p.do(p.KillNode("node-2"))
		p.after(40 * time.Second)
		require.True(p, p.state().Nodes[1].Ready, "a node that says nothing for a while is no dead node yet")
		p.after(40 * time.Second)
		require.False(p, p.state().Nodes[1].Ready)
		require.Equal(p, map[string]int{"web:1": 3}, p.ready(), "the lost Pod has a successor")
		going := 0
		for _, pod := range p.state().Pods {
			if pod.Going {
				going++
				require.Equal(p, "node-2", pod.Node)
			} else {
				require.NotEqual(p, "node-2", pod.Node)
			}
		}
		require.Equal(p, 1, going, "only its kubelet could say that the old one has ended")
		p.do(p.ReviveNode("node-2"))
		p.after(30 * time.Second)
		require.True(p, p.state().Nodes[1].Ready)
		require.Len(p, p.state().Pods, 3)
		require.Error(p, p.KillNode("node-9"))
	})
}

func TestNoPodGoesToANodeThatIsCordoned(t *testing.T) {
	inWorld(t, world.Options{}, func(p *play) {
		for _, name := range []string{"node-1", "node-2", "node-3"} {
			p.do(p.Cordon(p.ctx, name))
		}
		p.do(p.Create(p.ctx, "web", "web:1", 2))
		p.after(20 * time.Second)
		require.Empty(p, p.ready())
		p.do(p.Uncordon(p.ctx, "node-3"))
		p.after(10 * time.Second)
		for _, pod := range p.state().Pods {
			require.Equal(p, "node-3", pod.Node)
		}
		require.Equal(p, map[string]int{"web:1": 2}, p.ready())
	})
}

// Foreground: the Deployment stays, with a finalizer, until its Pods have ended.
func TestADeploymentThatIsDeletedInTheForegroundGoesLast(t *testing.T) {
	inWorld(t, world.Options{}, func(p *play) {
		p.do(p.Create(p.ctx, "web", "web:1", 2))
		p.after(10 * time.Second)
		p.do(p.Delete(p.ctx, "web", "foreground"))
		p.after(500 * time.Millisecond)
		s := p.state()
		require.Len(p, s.Pods, 2)
		require.True(p, s.Deployments[0].Going)
		p.after(5 * time.Second)
		s = p.state()
		require.Empty(p, s.Pods)
		require.Empty(p, s.ReplicaSets)
		require.Empty(p, s.Deployments)
	})
}

func TestAReplicaTakesOverFromALeaderThatWasKilled(t *testing.T) {
	inWorld(t, world.Options{Replicas: 2}, func(p *play) {
		p.do(p.Create(p.ctx, "web", "web:1", 2))
		p.after(10 * time.Second)
		require.Equal(p, map[string]int{"web:1": 2}, p.ready())
		first := p.Leader(p.ctx)
		p.do(p.KillLeader(p.ctx))
		p.do(p.Scale(p.ctx, "web", 4))
		p.after(8 * time.Second)
		require.Equal(p, map[string]int{"web:1": 2}, p.ready(), "a lease that nobody has released has to expire")
		for _, process := range p.state().Processes {
			require.False(p, process.Leads, "the lease has the name of %s, which is dead", first.Name)
		}
		p.after(20 * time.Second)
		require.Equal(p, map[string]int{"web:1": 4}, p.ready())
		second := p.Leader(p.ctx)
		require.NotEqual(p, first.Name, second.Name)
		p.do(p.StartProcess())
		p.do(p.KillLeader(p.ctx))
		p.do(p.Scale(p.ctx, "web", 1))
		p.after(30 * time.Second)
		require.Equal(p, map[string]int{"web:1": 1}, p.ready())
		require.Equal(p, "mini-3", p.Leader(p.ctx).Name)
	})
}

// Two processes that don't know of each other would each create the Pods.
func TestASecondProcessWithoutALeaseIsRefused(t *testing.T) {
	inWorld(t, world.Options{}, func(p *play) {
		p.do(p.Create(p.ctx, "web", "web:1", 2))
		p.after(10 * time.Second)
		require.ErrorContains(p, p.StartProcess(), "mini-1 is alive, and without a lease there's room for one")
		require.Len(p, p.state().Processes, 1)
		p.do(p.KillLeader(p.ctx))
		p.do(p.StartProcess())
		p.do(p.Scale(p.ctx, "web", 3))
		p.after(10 * time.Second)
		require.Equal(p, map[string]int{"web:1": 3}, p.ready())
		require.ErrorContains(p, p.StartProcess(), "mini-2 is alive")
	})
}

// What a controller does not see, it cannot do.
func TestAWatchThatIsHeldStopsTheLoopUntilItIsReleased(t *testing.T) {
	inWorld(t, world.Options{}, func(p *play) {
		p.do(p.Disturb(p.ctx, "hold watch", "deployments"))
		p.do(p.Create(p.ctx, "web", "web:1", 3))
		p.after(time.Minute)
		require.Empty(p, p.state().Pods)
		require.Equal(p, []string{"deployments"}, p.state().Processes[0].Held)
		p.do(p.Disturb(p.ctx, "release watch", "deployments"))
		p.after(10 * time.Second)
		require.Equal(p, map[string]int{"web:1": 3}, p.ready())
		for _, what := range []string{"drop watch", "expire watch"} {
			p.do(p.Disturb(p.ctx, what, "pods"))
		}
		p.do(p.Disturb(p.ctx, "lose an answer", ""))
		p.do(p.Scale(p.ctx, "web", 6))
		p.after(time.Minute)
		require.Equal(p, map[string]int{"web:1": 6}, p.ready())
		require.Len(p, p.state().Pods, 6)
	})
}

// The page draws what Follow says, and a button that is pressed must show.
func TestFollowShowsEachChange(t *testing.T) {
	inWorld(t, world.Options{}, func(p *play) {
		ctx, stop := context.WithCancel(p.ctx)
		var last world.State
		ended := make(chan error)
		go func() { ended <- p.Follow(ctx, func(s world.State) { last = s }) }()
		p.do(p.Create(p.ctx, "web", "web:1", 1))
		p.after(10 * time.Second)
		require.Equal(p, p.state(), last)
		p.do(p.KillNode("node-3"))
		require.True(p, last.Nodes[2].Dead)
		stop()
		require.NoError(p, <-ended)
	})
}

func TestAnActionThatThereIsNotIsRefused(t *testing.T) {
	inWorld(t, world.Options{}, func(p *play) {
		require.ErrorContains(p, p.Do(p.ctx, "explode"), `"explode"`)
		require.ErrorContains(p, p.Do(p.ctx, "scale", "web"), "takes 2 values")
		require.Error(p, p.Do(p.ctx, "scale", "web", "many"))
		require.ErrorContains(p, p.Do(p.ctx, "scale", "web", "1"), "not found")
		p.do(p.Do(p.ctx, "create", "web", "web:1", "1"))
		p.after(5 * time.Second)
		require.Equal(p, fmt.Sprintln("deployment.apps/web"), p.kubectl("get deploy -o name"))
	})
}
