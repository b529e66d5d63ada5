package chapters

import (
	"context"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/loopwright/loopwright/benchmarks/election"
	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/mini"
)

// A leader is killed just after it has renewed its lease, and says nothing any more. Nobody may work until the lease is
// over. What comes on top of that is how often the others look: here, five times in a LeaseDuration.
func Benchmark13(b *testing.B) {
	compare(b, "until another process works after kill -9", "LeaseDuration-s", []int{1, 3},
		peer{"mini", func(b *testing.B, n int) {
			takeOver(b, n, func(server *fakeapi.Server) func(context.Context, time.Duration, func()) {
				c := &mini.Client{Cluster: miniCluster(b, server.Config())}
				return func(ctx context.Context, lease time.Duration, works func()) {
					elector := &mini.Elector{
						Client: c, Lease: mini.Request{Namespace: "default", Name: "it"}, Identity: "b",
						LeaseDuration: lease, RenewDeadline: lease / 2, RetryPeriod: lease / 5,
					}
					_ = elector.Run(ctx, func(context.Context) error { works(); return nil })
				}
			})
		}},
		peer{"library", func(b *testing.B, n int) { takeOver(b, n, elected(b, election.Ours)) }},
		peer{"client-go", func(b *testing.B, n int) { takeOver(b, n, elected(b, election.Theirs)) }},
	)
}

func elected(b *testing.B, p election.Peer) func(*fakeapi.Server) func(context.Context, time.Duration, func()) {
	return func(server *fakeapi.Server) func(context.Context, time.Duration, func()) {
		client, err := kubernetes.NewForConfig(server.Config())
		if err != nil {
			b.Fatal(err)
		}
		return func(ctx context.Context, lease time.Duration, works func()) {
			p.Run(ctx, election.Replica{
				Identity: "b", Client: client.CoordinationV1(), Namespace: "default", Name: "it",
				Times: election.Times{Lease: lease, Renew: lease / 2, Retry: lease / 5}, Work: func(context.Context) { works() },
			})
		}
	}
}

// takeOver has a process wait for the lease of one that was killed, again and again.
func takeOver(b *testing.B, seconds int, connect func(*fakeapi.Server) func(context.Context, time.Duration, func())) {
	server := fakeapi.New(fakeapi.Options{})
	b.Cleanup(server.Close)
	wait := connect(server)
	client, err := kubernetes.NewForConfig(server.Config())
	if err != nil {
		b.Fatal(err)
	}
	leases := client.CoordinationV1().Leases("default")
	for b.Loop() {
		b.StopTimer()
		_ = leases.Delete(b.Context(), "it", metav1.DeleteOptions{}) // the last round's, if there was one
		_, err := leases.Create(b.Context(), &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: "it"},
			Spec: coordinationv1.LeaseSpec{
				HolderIdentity: new("a"), LeaseDurationSeconds: new(int32(seconds)), RenewTime: new(metav1.NowMicro()), AcquireTime: new(metav1.NowMicro()),
			},
		}, metav1.CreateOptions{})
		if err != nil {
			b.Fatal(err)
		}
		ctx, stop := context.WithCancel(b.Context())
		b.StartTimer()
		wait(ctx, time.Duration(seconds)*time.Second, func() { b.StopTimer(); stop() })
		stop()
		b.StartTimer()
	}
}
