package mini_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/mini"
)

// replicaSet returns one that asks for this many Pods.
func replicaSet(name string, replicas int32) *appsv1.ReplicaSet {
	labels := map[string]string{"app": name}
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
			},
		},
	}
}

func TestThereAreAsManyPodsAsTheReplicaSetAsksFor(t *testing.T) {
	inMemory(t, func(w *world) {
		cache := mini.NewCache(w.Cluster)
		client := mini.NewCachedClient(cache)
		sets, err := cache.Informer(&appsv1.ReplicaSet{})
		require.NoError(w, err)
		pods, err := cache.Informer(&corev1.Pod{})
		require.NoError(w, err)
		c := mini.NewController("replicaset", &mini.FirstReplicaSet{Client: client})
		c.Watch(sets, mini.EnqueueObject)
		c.Watch(pods, mini.EnqueueOwner(appsv1.SchemeGroupVersion.WithKind("ReplicaSet").GroupKind()))
		w.run(cache.Run)
		w.run(c.Run)

		rs, err := w.Other.AppsV1().ReplicaSets("default").Create(w.ctx, replicaSet("web", 10), metav1.CreateOptions{})
		require.NoError(w, err)
		count := func() int {
			synctest.Wait()
			list, err := w.Other.CoreV1().Pods("default").List(w.ctx, metav1.ListOptions{})
			require.NoError(w, err)
			return len(list.Items)
		}
		require.Equal(w, 10, count())
		rs.Spec.Replicas = new(int32(3))
		_, err = w.Other.AppsV1().ReplicaSets("default").Update(w.ctx, rs, metav1.UpdateOptions{})
		require.NoError(w, err)
		require.Equal(w, 3, count())
	})
}
