package world_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/tests/race"
	"github.com/loopwright/loopwright/playground/world"
)

// Whoever clicks for ten minutes may break what the buttons break, and nothing else: when the
// disturbances are over, each Deployment has the Pods that it asks for. What goes on running when the
// world has ended fails the test, too.
func TestThousandsOfRandomClicksLoseNoPod(t *testing.T) {
	seeds, clicks := race.Fewer(12), 250
	if testing.Short() {
		seeds = 2
	}
	pods := 0
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			inWorld(t, world.Options{Seed: uint64(seed), Replicas: 1 + seed%2}, func(p *play) {
				r := rand.New(rand.NewPCG(uint64(seed), 1))
				for range clicks {
					name, args := click(r, p)
					err := p.Do(p.ctx, name, args...)
					_ = err // a button may be about something that's gone by now
					p.after(time.Duration(r.IntN(3000)) * time.Millisecond)
				}
				p.calm()
				p.after(15 * time.Minute) // the longest back-off, and rollouts
				p.whole()
				pods += len(p.ready())
			})
		})
	}
	require.NotZero(t, pods, "the clicks left nothing that could have been lost")
}

func click(r *rand.Rand, p *play) (string, []string) {
	one := func(all ...string) string { return all[r.IntN(len(all))] }
	web, node := one("web", "api"), one("node-1", "node-2", "node-3")
	watched := one("pods", "deployments", "replicasets", "nodes", "leases")
	disturb := func(do, resource string) (string, []string) { return "disturb", []string{do, resource} }
	switch r.IntN(20) {
	case 0, 1:
		return "create", []string{web, one("web:1", "web:slow"), fmt.Sprint(r.IntN(6))}
	case 2, 3, 4:
		return "scale", []string{web, fmt.Sprint(r.IntN(8))}
	case 5, 6, 7:
		return "set image", []string{web, one("web:1", "web:2", "web:slow", "web:bad", "registry.invalid/web:1")}
	case 8:
		return "rollback", []string{web}
	case 9:
		return one("pause", "resume"), []string{web}
	case 10:
		return "delete", []string{web, one("background", "foreground", "orphan")}
	case 11:
		return one("cordon", "uncordon"), []string{node}
	case 12:
		return one("kill node", "revive node", "revive node"), []string{node}
	case 13:
		if alive := p.state().Processes; len(alive) < 6 {
			_ = p.StartProcess()
		}
		return "kill leader", nil
	case 14:
		return disturb(one("hold watch", "release watch", "release watch"), watched)
	case 15:
		return disturb(one("drop watch", "expire watch"), watched)
	case 16:
		return disturb("lose an answer", "")
	}
	if pods := p.state().Pods; len(pods) > 0 {
		return "delete pod", []string{pods[r.IntN(len(pods))].Name}
	}
	return "scale", []string{web, "1"}
}

// calm ends all disturbances, and gives each Deployment an image that works.
func (p *play) calm() {
	for _, process := range p.Processes() {
		watched, _ := process.Steps.Watched()
		for _, resource := range watched {
			p.do(process.Steps.Press("release watch", resource))
		}
	}
	p.do(p.StartProcess())
	for _, n := range p.state().Nodes {
		p.do(p.ReviveNode(n.Name))
		p.do(p.Uncordon(p.ctx, n.Name))
	}
	for _, d := range p.state().Deployments {
		if d.Going {
			continue
		}
		p.do(p.SetImage(p.ctx, d.Name, "web:9"))
		if d.Paused {
			p.do(p.Resume(p.ctx, d.Name))
		}
	}
}

// whole: each Deployment has its Pods, and no Pod waits for something that never comes.
func (p *play) whole() {
	p.Helper()
	s := p.state()
	sets := map[string]string{}
	for _, rs := range s.ReplicaSets {
		sets[rs.Name] = rs.Owner
	}
	has := map[string]int32{}
	for _, pod := range s.Pods {
		if owner := sets[pod.Owner]; owner != "" {
			require.True(p, pod.Ready, "%+v", pod)
			require.Equal(p, "web:9", pod.Image)
			has[owner]++
		}
		require.False(p, pod.Going, "%+v", pod)
		if pod.Owner != "" {
			require.Contains(p, sets, pod.Owner, "an owner that is gone: %+v", pod)
		}
	}
	for _, d := range s.Deployments {
		require.False(p, d.Going, "%+v", d)
		require.Equal(p, d.Wanted, has[d.Name], "%+v", d)
		require.Equal(p, d.Wanted, d.Available)
	}
	for _, n := range s.Nodes {
		require.True(p, n.Ready)
		require.Empty(p, n.Taints)
	}
}
