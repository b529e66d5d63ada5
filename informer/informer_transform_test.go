package informer

import (
	"bytes"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/loopwright/loopwright/internal/inorder"
)

func TestDropManagedFieldsLeavesTheRest(t *testing.T) {
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Annotations:   map[string]string{corev1.LastAppliedConfigAnnotation: "{}", "mine": "1"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
	}}
	dropped, err := DropManagedFields(object)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"mine": "1"}, dropped.Annotations)
	require.Empty(t, object.ManagedFields)
}

var errTooOdd = errors.New("too odd")

// A controller takes a missing object for a deleted one and makes it again; and one
// whose deletion got lost stays forever.
func TestAnObjectWhoseTransformFailsIsStoredAsItCame(t *testing.T) {
	for name, fail := range inorder.Map(map[string]func() (*corev1.ConfigMap, error){
		"with an error":     func() (*corev1.ConfigMap, error) { return nil, errTooOdd },
		"without an object": func() (*corev1.ConfigMap, error) { return nil, nil },
	}) {
		t.Run(name, func(t *testing.T) {
			var failed []*TransformError
			options := InformerOptions[*corev1.ConfigMap]{
				Transform: func(object *corev1.ConfigMap) (*corev1.ConfigMap, error) {
					if object.Name == "odd" || object.Name == "late" {
						return fail()
					}
					return DropManagedFields(object)
				},
				OnTransformError: func(err *TransformError) { failed = append(failed, err) },
			}
			inInformer(t, options, func(t *testing.T, w world, informer *Informer[*corev1.ConfigMap], start, stop func()) {
				w.create(t, "even", nil)
				odd := w.create(t, "odd", nil) // comes in the list
				start()
				synctest.Wait()
				late := w.create(t, "late", nil) // comes in a watch event
				synctest.Wait()
				for _, want := range []*corev1.ConfigMap{odd, late} {
					stored, ok := informer.Store().Get(KeyOf(want))
					require.True(t, ok, want.Name)
					require.Equal(t, want, stored)
				}
				even, _ := informer.Store().Get(keyIn(w.namespace, "even"))
				require.Empty(t, even.ManagedFields)
				w.delete(t, "odd")
				synctest.Wait()
				require.Equal(t, 2, informer.Store().Len(), "its deletion arrives, too")
				stop()
				require.Len(t, failed, 3)
				require.Equal(t, KeyOf(odd), failed[0].Key)
				require.Equal(t, odd.ResourceVersion, failed[0].ResourceVersion)
				require.ErrorContains(t, failed[0], "transforming ConfigMap "+KeyOf(odd).String()+" at resourceVersion "+odd.ResourceVersion+": ")
				if name == "with an error" {
					require.ErrorIs(t, failed[0], errTooOdd)
				}
			})
		})
	}
}

// Who does not say what to do with an object whose transform failed finds it in the log.
func TestATransformThatFailsIsLogged(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	queue, _ := behind(0)
	sink := newTransformingSink(queue, InformerOptions[*corev1.Pod]{Transform: func(*corev1.Pod) (*corev1.Pod, error) { return nil, errTooOdd }})
	sink.Replace([]*corev1.Pod{podAt("a", "1")}, "1")
	require.Contains(t, log.String(), "shop/web at resourceVersion 1: too odd")
	require.Len(t, next(t, queue).Deltas, 1)
}

func TestDropManagedFieldsWorksOnObjectsThatCopyTheirMaps(t *testing.T) {
	object := &unstructured.Unstructured{}
	object.SetAnnotations(map[string]string{corev1.LastAppliedConfigAnnotation: "{}", "mine": "1"})
	dropped, err := DropManagedFields(object)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"mine": "1"}, dropped.GetAnnotations())
}

// A transform may return another object. What it was given must not be what is stored.
func TestWhatATransformReturnsIsWhatIsStored(t *testing.T) {
	queue, _ := behind(0)
	sink := newTransformingSink(queue, InformerOptions[*corev1.Pod]{Transform: func(pod *corev1.Pod) (*corev1.Pod, error) {
		return podOn(pod.Name, "small"), nil
	}})
	sink.Replace([]*corev1.Pod{podOn("listed", "large")}, "1")
	sink.Apply(event(watch.Added, podOn("watched", "large")))
	deltas := next(t, queue).Deltas
	require.Len(t, deltas, 2)
	for _, delta := range deltas {
		require.Equal(t, "small", delta.Object.Spec.NodeName, delta.Key)
	}
}
