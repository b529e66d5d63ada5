package chapters

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	upstreamclient "sigs.k8s.io/controller-runtime/pkg/client"
	upstream "sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/fake"
	"github.com/loopwright/loopwright/mini"
)

// A unit test writes and reads a few objects among others. mini has no fake client: its own is on an API server in memory,
// and its requests pass through Faults that let them go well, as on a calm day. The fake clients have no connection.
func Benchmark19(b *testing.B) {
	compare(b, "a ConfigMap created, read and deleted, without a cluster", "others", []int{10, 1_000},
		peer{"mini", func(b *testing.B, n int) {
			server := fakeapi.New(fakeapi.Options{})
			b.Cleanup(server.Close)
			config := server.Config()
			config.Wrap((&mini.Faults{Choose: func(mini.Call) mini.Fault { return mini.NoFault }}).Wrap)
			c := &mini.Client{Cluster: miniCluster(b, config)}
			for i := range n {
				must(b, c.Create(b.Context(), page(i)))
			}
			for b.Loop() {
				p := page(n)
				must(b, c.Create(b.Context(), p))
				must(b, c.Get(b.Context(), mini.KeyOf(p), &corev1.ConfigMap{}))
				must(b, c.Delete(b.Context(), p, metav1.DeleteOptions{}))
			}
		}},
		peer{"library", func(b *testing.B, n int) {
			builder := fake.NewClientBuilder()
			for i := range n {
				builder.WithObjects(page(i))
			}
			c := builder.Build()
			for b.Loop() {
				p := page(n)
				must(b, c.Create(b.Context(), p))
				must(b, c.Get(b.Context(), client.ObjectKeyFromObject(p), &corev1.ConfigMap{}))
				must(b, c.Delete(b.Context(), p))
			}
		}},
		peer{"controller-runtime", func(b *testing.B, n int) {
			builder := upstream.NewClientBuilder()
			for i := range n {
				builder.WithObjects(page(i))
			}
			c := builder.Build()
			for b.Loop() {
				p := page(n)
				must(b, c.Create(b.Context(), p))
				must(b, c.Get(b.Context(), upstreamclient.ObjectKeyFromObject(p), &corev1.ConfigMap{}))
				must(b, c.Delete(b.Context(), p))
			}
		}},
	)
	// What a request costs more because it may go wrong. The faults in force are those that one seed chooses.
	compare(b, "a request that passes through Faults", "requests before it", []int{10, 10_000}, peer{"mini", func(b *testing.B, n int) {
		faults := &mini.Faults{Choose: mini.Seed(1)}
		through := faults.Wrap(prepared{one: []byte("{}")})
		send := func(i int) {
			r, err := http.NewRequestWithContext(context.Background(), "GET", fmt.Sprint("http://pods/api/v1/nodes/", i), http.NoBody)
			must(b, err)
			if response, err := through.RoundTrip(r); err == nil {
				must(b, response.Body.Close())
			}
		}
		for i := range n {
			send(i)
		}
		for b.Loop() {
			send(0)
		}
	}})
}

func must(b *testing.B, err error) {
	if err != nil {
		b.Fatal(err)
	}
}

func page(i int) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint("page-", i)}, Data: map[string]string{"index.html": "Hello!"},
	}
}
