package mini_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/mini"
)

// fullCache returns a client whose cache has 1,000 Pods, one in ten with app=web.
func fullCache(b *testing.B) *mini.CachedClient {
	b.Helper()
	server := fakeapi.New(fakeapi.Options{})
	cluster, err := mini.NewCluster(server.Config(), scheme.Scheme)
	require.NoError(b, err)
	direct := &mini.Client{Cluster: cluster}
	for i := range 1000 {
		pod := podAt("")
		pod.Name, pod.UID = fmt.Sprintf("pod-%03d", i), ""
		pod.Labels = map[string]string{"app": fmt.Sprint("other-", i%10)}
		if i%10 == 0 {
			pod.Labels["app"] = "web"
		}
		pod.Spec.Containers = []corev1.Container{{Name: "c", Image: "i"}}
		require.NoError(b, direct.Create(b.Context(), pod))
	}
	ctx, cancel := context.WithCancel(b.Context())
	cache := mini.NewCache(cluster)
	ended := make(chan error)
	go func() { ended <- cache.Run(ctx) }()
	b.Cleanup(func() {
		cancel()
		require.NoError(b, <-ended)
		server.Close()
	})
	c := mini.NewCachedClient(cache)
	all, err := mini.List[*corev1.Pod](ctx, c, mini.Selection{})
	require.NoError(b, err)
	require.Len(b, all, 1000)
	return c
}

// One object: most of the time goes into the copy.
func BenchmarkCachedGet(b *testing.B) {
	c := fullCache(b)
	req := request("pod-500")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := mini.Get[*corev1.Pod](b.Context(), c, req); err != nil {
			b.Fatal(err)
		}
	}
}

// All 1,000 objects of a namespace.
func BenchmarkCachedList(b *testing.B) {
	c := fullCache(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := mini.List[*corev1.Pod](b.Context(), c, mini.Selection{Namespace: "default"}); err != nil {
			b.Fatal(err)
		}
	}
}

// 100 of the 1,000 objects: those that the selection leaves out are not copied.
func BenchmarkCachedListWithLabels(b *testing.B) {
	c := fullCache(b)
	web := mini.Selection{Namespace: "default", Labels: labels.SelectorFromSet(labels.Set{"app": "web"})}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := mini.List[*corev1.Pod](b.Context(), c, web); err != nil {
			b.Fatal(err)
		}
	}
}
