package handler

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/loopwright/loopwright/manager/client"
)

// manyTypes are more Go types than those that are found fast.
var manyTypes = []client.Object{
	&corev1.Pod{}, &corev1.Node{}, &corev1.Service{}, &corev1.Secret{}, &corev1.ConfigMap{}, &corev1.Namespace{},
	&appsv1.Deployment{}, &appsv1.ReplicaSet{}, &appsv1.DaemonSet{}, &appsv1.StatefulSet{}, &batchv1.Job{},
}

// In a storm, an event that makes the text of its reason makes garbage for nobody to read.
func TestThePhrasesOfAKindAreMadeOnce(t *testing.T) {
	partial := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{Kind: "Rose"}}
	loose := &unstructured.Unstructured{Object: map[string]any{"kind": "Cactus"}}
	objects := append([]client.Object{partial, loose}, manyTypes...)
	p := phrases{through: ", through a test"}
	made := map[client.Object]*ofKind{}
	for _, obj := range objects {
		made[obj] = p.of(obj)
	}
	for _, obj := range objects {
		require.Same(t, made[obj], p.of(obj), "%T", obj)
	}
	require.Len(t, *p.byKind.Load(), len(objects))

	p.byKind.Store(nil) // what is found now is found by its Go type, which is faster
	for _, obj := range manyTypes[:fewTypes] {
		require.Same(t, made[obj], p.of(obj), "%T", obj)
	}
}

// A list that grows with the number of kinds is slower than the map that it saves.
func TestFewTypesAreLookedThroughAndEachOfThemOnce(t *testing.T) {
	var p phrases
	for _, obj := range manyTypes {
		for range 2 { // two events of a kind may be the first of it at the same time
			p.make(obj, fmt.Sprintf("%T", obj))
		}
	}
	var found, want []reflect.Type
	for _, one := range *p.byType.Load() {
		found = append(found, one.objects)
	}
	for _, obj := range manyTypes[:fewTypes] {
		want = append(want, reflect.TypeOf(obj))
	}
	require.Equal(t, want, found)
}
