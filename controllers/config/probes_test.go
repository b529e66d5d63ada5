package config_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/cluster/clustertest"
	"github.com/loopwright/loopwright/controllers"
	"github.com/loopwright/loopwright/controllers/deployment"
	"github.com/loopwright/loopwright/controllers/endpoints"
	"github.com/loopwright/loopwright/controllers/garbagecollector"
	"github.com/loopwright/loopwright/controllers/replicaset"
	"github.com/loopwright/loopwright/manager/client"
)

// warned has what the API server has warned of.
type warned struct {
	mu    sync.Mutex // guards texts
	texts []string
}

func (w *warned) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.texts = append(w.texts, text)
}

func (w *warned) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	texts := w.texts
	w.texts = nil
	return texts
}

// The namespace of the manifests is restricted. A probe that isn't would be in its audit log, and in a warning, at each start.
func TestTheProbesComplyWithTheRestrictedLevel(t *testing.T) {
	config, said := rest.CopyConfig(clustertest.Config(t)), &warned{}
	config.WarningHandler = said
	c, err := client.New(config, client.Options{})
	require.NoError(t, err)
	namespace := clustertest.Namespace(t)
	var made corev1.Namespace
	require.NoError(t, c.Get(t.Context(), client.ObjectKey{Name: namespace}, &made))
	made.Labels["pod-security.kubernetes.io/warn"] = "restricted"
	require.NoError(t, c.Update(t.Context(), &made))
	create := func(object client.Object) []string {
		object = object.DeepCopyObject().(client.Object)
		object.SetNamespace(namespace)
		object.SetName("probe")
		require.NoError(t, c.Create(t.Context(), object, client.DryRunAll))
		return said.take()
	}
	careless := replicaset.Probe.Object.DeepCopyObject().(*appsv1.ReplicaSet)
	careless.Spec.Template.Spec.SecurityContext = nil
	require.NotEmpty(t, create(careless), "the API server has to warn here, or this test shows nothing")
	for _, probe := range []controllers.Probe{
		deployment.Probe, replicaset.Probe, endpoints.Probe, garbagecollector.Probe,
		{Original: "a template", Object: &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{}},
			Spec:       controllers.ProbeTemplate(nil).Spec,
		}},
	} {
		require.Empty(t, create(probe.Object), "the probe for the %s", probe.Original)
	}
}
