package controllers

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/client"
)

// A cache that is late shows the probe when it is over, and another program's probe looks the same.
func TestAControllerAnswersTheProbesOfOthersOnly(t *testing.T) {
	for _, probe := range []Probe{setProbe, serviceProbe} {
		inWorld(t, func(w *world) {
			named := func(name string) client.Object {
				object := probe.Object.DeepCopyObject().(client.Object)
				object.SetNamespace("default")
				object.SetName(name)
				object.SetLabels(map[string]string{probeLabel: probe.Original})
				return object
			}
			w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{UserAgent: ours, Verb: "watch"}, DelayEvents: 10 * time.Second})
			var others sync.WaitGroup
			others.Go(func() {
				time.Sleep(20 * time.Second) // by then, the events of our own probe have come
				if err := w.live.Create(w.Context(), named("loopwright-probe-theirs")); err != nil {
					w.Error(err)
				}
			})
			require.NoError(w, w.starts(probe, ProbeOptions{}, time.Minute))
			others.Wait()
			require.Equal(w, []string{"loopwright-probe-theirs"}, w.reconciled)
		})
	}
}

// Another object may have the probe's name elsewhere, and the answer may have a label instead of the name.
func TestTheProbeAndItsAnswerAreKnown(t *testing.T) {
	p := &prober{namespace: "default", name: "probe"}
	require.False(t, p.isOther(newSet("probe")))
	require.True(t, p.isOther(newSet("web")))
	elsewhere := newSet("probe")
	elsewhere.Namespace = "shop"
	require.True(t, p.isOther(elsewhere))

	answer := newSet("probe-x7k2p")
	answer.Labels = map[string]string{"for": "probe"}
	require.True(t, p.isOther(answer))
	p.AnswerLabel = "for"
	require.False(t, p.isOther(answer))
	answer.Labels["for"] = "another"
	require.True(t, p.isOther(answer))
}
