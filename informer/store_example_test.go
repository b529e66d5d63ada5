package informer_test

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/informer"
)

// An index answers a question about a field, such as which Pods run on a node,
// without looking at all the others.
func ExampleNewStore() {
	pods := informer.NewStore[*corev1.Pod](informer.StoreOptions{})
	byNode, err := pods.AddIndex("node", func(values []string, pod *corev1.Pod) []string {
		return append(values, pod.Spec.NodeName)
	})
	if err != nil {
		panic(err)
	}
	for _, pod := range [][2]string{{"web-1", "blue"}, {"web-2", "red"}, {"web-3", "blue"}} {
		pods.Put(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: pod[0]},
			Spec: corev1.PodSpec{NodeName: pod[1]}})
	}
	pods.Delete(informer.Key{Namespace: "shop", Name: "web-3"})

	for pod := range byNode.Lookup("blue") {
		fmt.Println(pod.Name, "runs on blue")
	}
	_, ok := pods.Get(informer.Key{Namespace: "shop", Name: "web-3"})
	fmt.Println(pods.Len(), "pods; web-3 is among them:", ok)
	// Output:
	// web-1 runs on blue
	// 2 pods; web-3 is among them: false
}
