package main

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/log"
)

// The chapter's text shows this program. A third of its creates fail, and its watches break; it has to try again.
func TestADeploymentGetsItsPodsAndNewOnes(t *testing.T) {
	log.SetLogger(logr.Discard())
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(fakeapi.Options{})
		defer server.Close()
		server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "watch", UserAgent: "the program"}, CutAfter: time.Minute, CutAbruptly: true})
		server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "create", UserAgent: "the program"}, Probability: 0.3, Status: fakeapi.InternalError()})
		users, err := client.New(server.Config(), client.Options{})
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		config := server.Config()
		config.UserAgent = "the program"
		ended := make(chan error, 1)
		go func() { ended <- keep(ctx, config) }()
		labels := map[string]string{"app": "web"}
		d := &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
			Spec: appsv1.DeploymentSpec{
				Replicas: new(int32(3)), Selector: &metav1.LabelSelector{MatchLabels: labels}, Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType},
				Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:1"}}},
				},
			},
		}
		require.NoError(t, users.Create(ctx, d))
		images := func() map[string]int {
			time.Sleep(time.Hour) // the bubble's
			var pods corev1.PodList
			require.NoError(t, users.List(ctx, &pods))
			images := map[string]int{}
			for _, pod := range pods.Items {
				images[pod.Spec.Containers[0].Image]++
			}
			return images
		}
		require.Equal(t, map[string]int{"web:1": 3}, images())
		before := d.DeepCopy()
		d.Spec.Template.Spec.Containers[0].Image = "web:2"
		require.NoError(t, users.Patch(ctx, d, client.MergeFrom(before)))
		require.Equal(t, map[string]int{"web:2": 3}, images())
		stop()
		require.NoError(t, <-ended)
	})
}
