// Command naive evicts the Pods of nodes whose leases are old.
package main

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/chapters/35-nodelifecycle/outage"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

func main() {
	outage.Main("Chapter 35, naive: an old lease means a dead node", prepare,
		demo.Predict(1,
			"node a renews its lease every 10 seconds, and its clock is ten minutes slow. "+
				"What happens to its Pod?",
			"the two lines about the nodes"),
		demo.Predict(2,
			"web-b tolerates a silent node for 5 seconds, and db-b tolerates it forever. Which of "+
				"the two is left 70 seconds later?",
			"the last two lines"))
}

// prepare adds a controller that deletes the Pods of each node whose lease is older than
// 50 seconds.
func prepare(m *mini.Manager) error {
	evict := func(ctx context.Context, req mini.Request) (mini.Result, error) {
		lease, err := mini.Get[*coordinationv1.Lease](ctx, m.Client, req)
		if err != nil {
			return mini.Result{}, mini.IgnoreNotFound(err)
		}
		if req.Namespace != corev1.NamespaceNodeLease {
			return mini.Result{}, nil
		}
		if time.Since(lease.Spec.RenewTime.Time) < 50*time.Second {
			return mini.Result{RequeueAfter: 5 * time.Second}, nil
		}
		pods, err := mini.List[*corev1.Pod](ctx, m.Client, mini.Selection{})
		for _, pod := range pods {
			if pod.Spec.NodeName == lease.Name && err == nil {
				err = m.Client.Delete(ctx, pod, metav1.DeleteOptions{})
			}
		}
		return mini.Result{RequeueAfter: 5 * time.Second}, mini.IgnoreNotFound(err)
	}
	c := m.NewController("naive", 1, mini.ReconcilerFunc(evict))
	c.Watch(m.Informer(&coordinationv1.Lease{}), mini.EnqueueObject)
	m.AddController(c)
	return m.Err()
}
