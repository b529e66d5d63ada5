//go:build figures

package controllers

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/controllers/replicaset"
	"github.com/loopwright/loopwright/docs/book/figures/figure"
)

// shuffled is a ranking after a reader has changed it at random.
func shuffled(random *rand.Rand) *ranking {
	r := newRanking()
	for range 30 {
		controls := r.Controls()
		c := controls[1+random.IntN(len(controls)-1)]
		r.Do(figure.Action{Key: c.Key, Value: c.Options[random.IntN(len(c.Options))].Value})
	}
	return r
}

func TestAReasonComparesTheTwoPods(t *testing.T) {
	one, three := place{pod: pod{restarts: "1"}}, place{pod: pod{restarts: "3"}}
	require.Equal(t, "it was restarted 3 times, not once", reason("restarts", three, one))
	require.Equal(t, "it was restarted once, not 0", reason("restarts", one, place{pod: pod{restarts: "0"}}))
}

// The line in the picture is between the Pods that the controller would delete and those that it would keep.
func TestThePodsAboveTheLineAreThoseThatTheControllerDeletes(t *testing.T) {
	for seed := range uint64(300) {
		r := shuffled(rand.New(rand.NewPCG(seed, 6)))
		for n := 1; n < len(r.pods); n++ {
			r.n = n
			var want, got []string
			for _, pod := range replicaset.FirstToGo(r.objects(), n, noon) {
				want = append(want, pod.Name)
			}
			for _, one := range r.places() {
				if one.goes {
					got = append(got, one.pod.name)
				}
			}
			require.Equal(t, want, got)
		}
	}
}

// The reason that is shown is the one that decided: with all rules above it the two Pods are equal, and with this one
// alone they are in the same order.
func TestTheRuleThatIsShownIsTheOneThatDecided(t *testing.T) {
	decided := map[string]int{}
	for seed := range uint64(400) {
		r := shuffled(rand.New(rand.NewPCG(seed, 7)))
		crowd := replicaset.Crowd(r.objects())
		for _, a := range r.pods {
			for _, b := range r.pods {
				if a.name == b.name {
					continue
				}
				order, rule := replicaset.Compare(a.object(), b.object(), crowd, noon)
				require.Equal(t, order < 0, replicaset.Alone(a.object(), b.object(), rule, crowd, noon) < 0, "%+v %+v: %s", a, b, rule)
				decided[rule]++
			}
		}
	}
	for _, rule := range replicaset.Rules {
		if rule.Name != "sidecarRestarts" { // no Pod of the figure has a sidecar
			require.Positive(t, decided[rule.Name], "no pair was decided by %s", rule.Name)
			require.NotEqual(t, reason("uid", place{}, place{}) == reason(rule.Name, place{}, place{}), rule.Name != "uid", "%s needs words", rule.Name)
		}
	}
}
