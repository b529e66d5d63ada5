package stalled_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/mini"
	"github.com/loopwright/loopwright/mini/cmd/internal/stalled"
	"github.com/loopwright/loopwright/trace"
)

// A rollout hangs, and every part of the machinery is fine: only the Deployment can say so.
func TestWhatMinisInformersSeeStallIsRecordedUntilItIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := fakeapi.New(fakeapi.Options{})
		defer api.Close()
		cluster, err := mini.NewCluster(api.Config(), scheme.Scheme)
		require.NoError(t, err)
		m, recorder := mini.NewManager(cluster), trace.New(0)
		require.NoError(t, stalled.Record(m, recorder, &appsv1.Deployment{}))
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- m.Run(ctx) }()
		c := &mini.Client{Cluster: cluster}
		web := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
		web.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
		web.Spec.Template.Labels = web.Spec.Selector.MatchLabels
		web.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web", Image: "web"}}
		require.NoError(t, c.Create(ctx, web))
		for _, status := range []corev1.ConditionStatus{"False", "True"} {
			web.Status.Conditions = []appsv1.DeploymentCondition{{Type: "Progressing", Status: status, Reason: "ProgressDeadlineExceeded"}}
			require.NoError(t, c.UpdateStatus(ctx, web))
			synctest.Wait()
		}
		var said []string
		for _, e := range recorder.Events() {
			said = append(said, e.Object+" "+e.Namespace+"/"+e.Name+" "+e.Reason)
		}
		require.Equal(t, []string{"Deployment default/web Progressing is False: ProgressDeadlineExceeded", "Deployment default/web "}, said)
		stop()
		require.NoError(t, <-ended)
	})
}
