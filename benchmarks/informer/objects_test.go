// Package informer_test runs the same workloads on this library's watching half
// and on client-go's tools/cache. Sub-benchmarks named ours and client-go belong
// together; cmd/ratios compares them.
package informer_test

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/mini"
)

// pod has what a store looks at. What else is in an object matters to neither.
func pod(i int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: fmt.Sprintf("shop-%d", i%50), Name: fmt.Sprintf("web-6d4f5c7b9-%05d", i),
			ResourceVersion: fmt.Sprint(100_000 + i)},
		Spec: corev1.PodSpec{NodeName: fmt.Sprintf("node-%d", i%200)},
	}
}

func somePods(count int) []*corev1.Pod {
	pods := make([]*corev1.Pod, count)
	for i := range pods {
		pods[i] = pod(i)
	}
	return pods
}

func anys(pods []*corev1.Pod) []any {
	objects := make([]any, len(pods))
	for i, pod := range pods {
		objects[i] = pod
	}
	return objects
}

// ours and theirs are stores with the same two indices.
func ours(pods []*corev1.Pod) (*informer.Store[*corev1.Pod], *informer.Index[*corev1.Pod]) {
	store := informer.NewStore[*corev1.Pod](informer.StoreOptions{})
	if _, err := store.AddIndex(informer.NamespaceIndex, informer.IndexNamespace[*corev1.Pod]); err != nil {
		panic(err)
	}
	byNode, err := store.AddIndex("node", func(values []string, pod *corev1.Pod) []string {
		return append(values, pod.Spec.NodeName)
	})
	if err != nil {
		panic(err)
	}
	store.Replace(pods)
	return store, byNode
}

func theirs(objects []any) cache.Indexer {
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{
		cache.NamespaceIndex: cache.MetaNamespaceIndexFunc,
		"node":               func(object any) ([]string, error) { return []string{object.(*corev1.Pod).Spec.NodeName}, nil },
	})
	if err := indexer.Replace(objects, "1"); err != nil {
		panic(err)
	}
	return indexer
}

// minis is the store of the course, with the same indices.
func minis(pods []*corev1.Pod) *mini.Store {
	store := mini.NewStore(miniIndexers())
	store.Replace(miniObjects(pods))
	return store
}

func miniIndexers() mini.Indexers {
	return mini.Indexers{
		"namespace": func(object mini.Object) []string { return []string{object.GetNamespace()} },
		"node":      func(object mini.Object) []string { return []string{object.(*corev1.Pod).Spec.NodeName} },
	}
}

func miniObjects(pods []*corev1.Pod) []mini.Object {
	objects := make([]mini.Object, len(pods))
	for i, pod := range pods {
		objects[i] = pod
	}
	return objects
}
