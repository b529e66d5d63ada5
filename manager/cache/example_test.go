package cache_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
)

// A program reads what it needs often from a cache. The first read of a kind lists it, and opens a watch; all
// others are answered from memory.
func Example() {
	server := fakeapi.New(fakeapi.Options{}) // in place of a cluster
	defer server.Close()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	live, err := kubernetes.NewForConfig(server.Config())
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, node := range []string{"node-1", "node-2", "node-1"} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "web-"}, Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "web", Image: "web"}}}}
		if _, err := live.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{}); err != nil {
			fmt.Println(err)
		}
	}

	c, err := cache.New(server.Config(), cache.Options{DefaultTransform: cache.TransformStripManagedFields()})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = c.IndexField(ctx, &corev1.Pod{}, "spec.nodeName", func(object client.Object) []string {
		return []string{object.(*corev1.Pod).Spec.NodeName}
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Start(ctx) }()
	if err := cache.WaitForSync(ctx, c); err != nil {
		fmt.Println(err) // says what did not sync, and why
	}

	var pods corev1.PodList // copies: the program may change them
	if err := c.List(ctx, &pods, client.InNamespace("default"), client.MatchingFields{"spec.nodeName": "node-1"}); err != nil {
		fmt.Println(err)
	}
	fmt.Println(len(pods.Items), "pods on node-1")

	nodes := map[string]int{}
	for pod, err := range cache.All(ctx, c, &corev1.Pod{}) { // no copies: the program may only look
		if err != nil {
			fmt.Println(err)
			break
		}
		nodes[pod.Spec.NodeName]++
	}
	fmt.Println(nodes)
	fmt.Println("requests for pods:", len(server.Requests(fakeapi.Match{Verb: "watch", Resource: "pods"})))

	stop()
	fmt.Println(<-ended)
	// Output:
	// 2 pods on node-1
	// map[node-1:2 node-2:1]
	// requests for pods: 1
	// <nil>
}

// A program that may read two namespaces only, and of Secrets only some, says so.
func ExampleOptions() {
	server := fakeapi.New(fakeapi.Options{})
	defer server.Close()
	_, err := cache.New(server.Config(), cache.Options{
		DefaultNamespaces: map[string]cache.Config{"shop": {}, "bank": {}},
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Secret{}: {Namespaces: map[string]cache.Config{"bank": {LabelSelector: labels.SelectorFromSet(labels.Set{"app": "shop"})}}},
		},
	})
	fmt.Println(err)
	// Output: <nil>
}
