package election

import (
	"context"
	"runtime"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

// leases is a server without HTTP. Each update has to be taken from renewed.
type leases struct {
	coordinationv1client.LeaseInterface // the rest, which no elector calls
	lease                               *coordinationv1.Lease
	renewed                             chan struct{} // from Update to the benchmark; without a buffer, so that they take turns
}

func (l *leases) Leases(string) coordinationv1client.LeaseInterface { return l }

func (l *leases) Get(context.Context, string, metav1.GetOptions) (*coordinationv1.Lease, error) {
	if l.lease == nil {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "leases"}, "it")
	}
	return l.lease, nil
}

func (l *leases) Create(_ context.Context, lease *coordinationv1.Lease, _ metav1.CreateOptions) (*coordinationv1.Lease, error) {
	l.lease = lease
	return lease, nil
}

func (l *leases) Update(ctx context.Context, lease *coordinationv1.Lease, _ metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	l.lease = lease
	select {
	case l.renewed <- struct{}{}:
	case <-ctx.Done():
	}
	return lease, nil
}

// BenchmarkRenew is a renewal, without the request. RetryPeriod is a microsecond, and the time that a
// renewal takes is mostly that of timers and of the change between goroutines.
func BenchmarkRenew(b *testing.B) {
	for _, peer := range []Peer{Ours, Theirs} {
		b.Run(peer.Name, func(b *testing.B) {
			before := runtime.NumGoroutine()
			released := "" // nobody has it, so nobody waits
			l := &leases{renewed: make(chan struct{}), lease: &coordinationv1.Lease{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "it"},
				Spec:       coordinationv1.LeaseSpec{HolderIdentity: &released},
			}}
			ctx, stop := context.WithCancel(b.Context())
			ended := make(chan struct{})
			go func() {
				peer.Run(ctx, Replica{Identity: "a", Client: l, Namespace: "default", Name: "it", Times: Times{time.Hour, time.Hour / 2, time.Microsecond},
					Work: func(ctx context.Context) { <-ctx.Done() }})
				close(ended)
			}()
			<-l.renewed // taken
			b.ReportAllocs()
			for b.Loop() {
				<-l.renewed
			}
			b.ReportMetric(float64(runtime.NumGoroutine()-before-1), "goroutines") // without ours, above
			stop()
			<-ended
		})
	}
}
