package mini_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/loopwright/loopwright/mini"
)

// appWeb is what the sets' selectors match.
var appWeb = map[string]string{"app": "web"}

const revisionLabel = appsv1.ControllerRevisionHashLabelKey

// setClient is client-go's client of DaemonSets or StatefulSets.
type setClient[T mini.Object] interface {
	Create(context.Context, T, metav1.CreateOptions) (T, error)
	Get(context.Context, string, metav1.GetOptions) (T, error)
	Update(context.Context, T, metav1.UpdateOptions) (T, error)
}

// addSet creates the set, and waits until its Pods are ready.
func addSet[T mini.Object](w *world, sets setClient[T], set T) {
	w.Helper()
	synctest.Wait() // the controller has seen what was there before
	_, err := sets.Create(w.ctx, set, metav1.CreateOptions{})
	require.NoError(w, err)
	time.Sleep(20 * time.Second)
	synctest.Wait()
}

func getSet[T mini.Object](w *world, sets setClient[T]) T {
	w.Helper()
	synctest.Wait()
	set, err := sets.Get(w.ctx, web.Name, metav1.GetOptions{})
	require.NoError(w, err)
	return set
}

// changeSet changes the set, as a user does with kubectl.
func changeSet[T mini.Object](w *world, sets setClient[T], changes ...func(T)) {
	w.Helper()
	set := getSet(w, sets)
	for _, change := range changes {
		change(set)
	}
	_, err := sets.Update(w.ctx, set, metav1.UpdateOptions{})
	require.NoError(w, err)
}

// stray creates a Pod without an owner.
func (w *world) stray(name string, labels map[string]string, spec corev1.PodSpec) {
	w.Helper()
	pod := &corev1.Pod{Spec: *spec.DeepCopy()}
	pod.Name, pod.Labels = name, labels
	_, err := w.Other.CoreV1().Pods("default").Create(w.ctx, pod, metav1.CreateOptions{})
	require.NoError(w, err)
}

// needsAll fails if the controller can be made without one of these kinds.
func (w *world) needsAll(controller func(*mini.Manager) (*mini.Controller, error), kinds ...runtime.Object) {
	w.Helper()
	_, err := controller(w.withKinds(kinds...))
	require.NoError(w, err)
	for i := range kinds {
		_, err := controller(w.withKinds(slices.Delete(slices.Clone(kinds), i, i+1)...))
		require.Error(w, err, "a kind is missing: %T", kinds[i])
	}
}

// revisions returns the numbers of the DaemonSet's or StatefulSet's revisions by their image.
func (w *world) revisions() map[string]int64 {
	w.Helper()
	all := map[string]int64{}
	for _, rev := range w.controllerRevisions() {
		image := templateIn(w.T, rev).Spec.Containers[0].Image
		require.NotContains(w, all, image, "two revisions have one template")
		all[image] = rev.Revision
	}
	return all
}

func (w *world) controllerRevisions() []appsv1.ControllerRevision {
	w.Helper()
	synctest.Wait()
	list, err := w.Other.AppsV1().ControllerRevisions("default").List(w.ctx, metav1.ListOptions{})
	require.NoError(w, err)
	return list.Items
}

func templateIn(t *testing.T, rev appsv1.ControllerRevision) corev1.PodTemplateSpec {
	t.Helper()
	var data struct {
		Spec struct{ Template corev1.PodTemplateSpec }
	}
	require.NoError(t, json.Unmarshal(rev.Data.Raw, &data))
	return data.Spec.Template
}
