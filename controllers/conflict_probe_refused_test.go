package controllers

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/client"
)

func TestARightThatIsMissingIsNamed(t *testing.T) {
	for _, c := range []struct {
		probe          Probe
		verb, resource string
		wants          []string
	}{
		{setProbe, "list", "replicasets",
			[]string{"may not list the kind ReplicaSet in namespace default",
				`bind it to a Role there with the rule {apiGroups: ["apps"], resources: ["replicasets"], verbs: ["list", "create", "watch", "get", "delete"]}, or set Probe.Skip: `}},
		{setProbe, "create", "replicasets", []string{"may not create the kind ReplicaSet"}},
		{setProbe, "get", "replicasets", []string{"may not get the kind ReplicaSet"}},
		{setProbe, "delete", "replicasets", []string{"may not delete the kind ReplicaSet"}},
		{serviceProbe, "delete", "services", []string{"may not delete the kind Service",
			`{apiGroups: [""], resources: ["services"], verbs: ["list", "create", "delete"]} and the rule {apiGroups: [""], resources: ["endpoints"], verbs: ["watch", "get"]}`}},
		{serviceProbe, "watch", "endpoints", []string{"may not watch the kind Endpoints"}},
		{serviceProbe, "get", "endpoints", []string{"may not get the kind Endpoints"}},
		{sliceProbe, "list", "endpointslices", []string{"may not list the kind EndpointSlice",
			`and the rule {apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs: ["watch", "list"]}`}},
	} {
		t.Run(c.verb+" "+c.resource, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{UserAgent: ours, Verb: c.verb,
					Resource: c.resource, Namespace: "default"}, Status: fakeapi.Forbidden()})
				began := time.Now()
				err := w.starts(c.probe, ProbeOptions{}, time.Hour)
				for _, want := range c.wants {
					require.ErrorContains(w, err, want)
				}
				require.ErrorContains(w, err, "injected fault")
				require.LessOrEqual(w, time.Since(began), 3*time.Second,
					"asking again is of no use")
				if c.verb != "delete" {
					w.nothingIsLeft(c.probe)
				}
				require.Empty(w, w.reconciled)
			})
		})
	}
}

// A controller must not give up because the API server restarts while it starts.
func TestAProbeIsRepeatedIfTheServerDoesNotAnswer(t *testing.T) {
	for _, verb := range []string{"list", "create", "watch", "get", "delete"} {
		for _, fault := range []fakeapi.Fault{{Refuse: true}, {LoseResponse: true},
			{Status: fakeapi.Unavailable()}, {Status: fakeapi.Timeout()}} {
			inWorld(t, func(w *world) {
				fault.Match, fault.Times = fakeapi.Match{UserAgent: ours, Verb: verb,
					Resource: "replicasets", Namespace: "default"}, 2
				w.server.Inject(fault)
				require.NoError(w, w.starts(setProbe, ProbeOptions{}, time.Minute), "%s %+v", verb,
					fault)
				w.nothingIsLeft(setProbe)
				require.NoError(w, w.live.Create(w.Context(), newSet("web")))
				require.NoError(w, w.starts(setProbe, ProbeOptions{}, time.Minute))
				require.Contains(w, w.reconciled, "web")
			})
		}
	}
}

func TestAServerThatNeverAnswersEndsTheStart(t *testing.T) {
	inWorld(t, func(w *world) {
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{UserAgent: ours, Verb: "create"},
			Refuse: true})
		began := time.Now()
		require.ErrorContains(w, w.starts(setProbe, ProbeOptions{}, time.Hour),
			"create ReplicaSet in namespace default")
		require.Equal(w, 2*time.Minute, time.Since(began).Truncate(time.Minute),
			"the CacheSyncTimeout")
	})
}

func TestAProbeIsMadeInTheNamespaceThatTheOptionsName(t *testing.T) {
	inWorld(t, func(w *world) {
		require.NoError(w, w.live.Create(w.Context(),
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}))
		stop := w.other(time.Second, w.writesStatus, &appsv1.ReplicaSetList{})
		defer stop()
		require.ErrorContains(w, w.starts(setProbe, ProbeOptions{Namespace: "shop"}, time.Minute),
			"the probe ReplicaSet shop/loopwright-probe-")
		w.nothingIsLeft(setProbe)
		require.ErrorContains(w, w.starts(setProbe, ProbeOptions{Namespace: "none"}, time.Minute),
			`namespaces "none" not found`)
	})
}

// A probe must not change its caller's object, and users must be able to tell it from their own
// objects.
func TestAProbeIsACopyWithALabel(t *testing.T) {
	inWorld(t, func(w *world) {
		before := setProbe.Object.DeepCopyObject()
		var labels []map[string]string
		stop := w.other(0, func(o client.Object) error {
			labels = append(labels, o.GetLabels())
			return nil
		}, &appsv1.ReplicaSetList{})
		require.NoError(w, w.starts(setProbe, ProbeOptions{}, time.Minute))
		stop()
		require.Equal(w, []map[string]string{{"loopwright.dev/probe": "replicaset-controller"}},
			labels)
		require.Equal(w, before, setProbe.Object)
	})
}
