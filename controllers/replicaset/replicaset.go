// Package replicaset keeps the number of Pods that each ReplicaSet wants.
//
// The controller reads a ReplicaSet and its Pods. It creates, deletes, adopts and releases Pods,
// and writes their numbers into the ReplicaSet's status. Functions without a clock or a client
// decide what to do: how many Pods at a time (replicaset.go), which Pods to delete (rank.go), and
// the status (status.go). expectations.go remembers the unconfirmed writes. The reconciler reads,
// acts, reads again and reports (reconcile.go, pods.go).
//
// Neighbours: below it are controllers/internal/claim, which decides which Pods belong to a
// ReplicaSet, podstate, which decides whether a Pod is active, and the manager. Beside it is the
// Deployment controller, which creates ReplicaSets.
package replicaset

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/controllers"
	"github.com/loopwright/loopwright/controllers/internal/claim"
	"github.com/loopwright/loopwright/controllers/internal/podstate"
	"github.com/loopwright/loopwright/internal/ownmetrics"
	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/builder"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/metrics"
)

// controllerName is the name in events. Kubernetes' own controller has the same.
const controllerName = "replicaset-controller"

// kind is the kind in owner references to a ReplicaSet.
var kind = appsv1.SchemeGroupVersion.WithKind("ReplicaSet")

// Probe is a ReplicaSet with no Pods: a controller creates nothing for it, but writes its status.
var Probe = controllers.Probe{
	Original: controllerName,
	Object: &appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{
		Replicas: new(int32(0)),
		Selector: &metav1.LabelSelector{
			MatchLabels: map[string]string{"loopwright.dev/probe": controllerName},
		},
		Template: controllers.ProbeTemplate(map[string]string{"loopwright.dev/probe": controllerName}),
	}},
	IsAnswered: func(o client.Object) bool {
		return o.(*appsv1.ReplicaSet).Status.ObservedGeneration > 0
	},
}

// Add adds the controller to a manager.
//
// Guarantees: as long as no other controller reconciles ReplicaSets, this one doesn't create a Pod
// too many, or delete one that is needed, because its cache is late or because an answer was lost:
// it reads its own writes. It learns of the writes of other clients when the cache does. If another
// controller reconciles ReplicaSets already, this one doesn't start: the manager's Start returns
// an error that says what to do.
//
// Caveats: the cache must have all Pods of the namespaces in which it has ReplicaSets. Add
// registers an index of Pods, so call it once for a manager. A process that takes over must not
// start before all requests of its predecessor have arrived; the leader's lease ensures that.
func Add(mgr manager.Manager, options controllers.Options) error {
	return add(mgr, options, rand.String, defaultBurst)
}

// add is Add with a source of random suffixes for names, and a limit for the Pods of one reconcile.
func add(
	mgr manager.Manager, options controllers.Options, suffix func(length int) string, burst int,
) error {
	c, waiter, err := controllers.Client(mgr)
	if err != nil {
		return fmt.Errorf("the ReplicaSet controller: %w", err)
	}
	index := claim.Index{Kind: kind.GroupKind()}
	if err := index.Add(context.Background(), mgr.GetFieldIndexer(), &corev1.Pod{}); err != nil {
		return fmt.Errorf("finding the Pods of a ReplicaSet: %w", err)
	}
	r := &reconciler{
		client: c, cached: mgr.GetCache(), live: mgr.GetAPIReader(), waiter: waiter, index: index,
		suffix: suffix, burst: burst,
		events: mgr.GetEventRecorder(controllerName),
	}
	wanting := claim.Wanting(mgr.GetCache(), &appsv1.ReplicaSetList{},
		func(set client.Object) *metav1.LabelSelector {
			return set.(*appsv1.ReplicaSet).Spec.Selector
		})
	build, err := options.Builder(mgr, Probe)
	if err != nil {
		return fmt.Errorf("the ReplicaSet controller: %w", err)
	}
	return build.
		For(&appsv1.ReplicaSet{}).
		Owns(&corev1.Pod{}).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(wanting),
			builder.WithPredicates(claim.BecomesOrphan)).
		Complete(r)
}

// Run runs only this controller, until the context ends. To set more than the number of workers,
// call controllers.Run with Add.
func Run(ctx context.Context, config *rest.Config, workers int) error {
	return controllers.Run(ctx, config,
		controllers.Options{Controller: controller.Options{MaxConcurrentReconciles: workers}}, Add)
}

// defaultBurst is how many Pods one reconcile creates or deletes at most. The next reconcile does
// the rest, so that the controller doesn't act for minutes on one outdated read of a ReplicaSet
// with 100,000 Pods.
const defaultBurst = 500

// change is how many Pods to create or to delete. One of the two is 0.
type change struct{ create, remove int }

// changeTo returns the change from have Pods towards want Pods, at most burst of them.
func changeTo(want, have, burst int) change {
	return change{create: min(max(want-have, 0), burst), remove: min(max(have-want, 0), burst)}
}

// batches returns the sizes of the batches in which n Pods are created: 1, 2, 4, and so on, which
// is called a slow start. A batch begins when the one before has succeeded. So if a quota is used
// up, one request fails, and not hundreds. A thousand Pods take ten batches.
func batches(n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for size := 1; n > 0; size *= 2 {
			size = min(size, n)
			if !yield(size) {
				return
			}
			n -= size
		}
	}
}

// deletionAgeRatio has the name and the buckets of Kubernetes' own metric. It shows the effect of
// comparing times by their logarithm: a Pod that is chosen although it isn't the youngest is less
// than twice as old as the youngest, unless another criterion decided.
var deletionAgeRatio = prometheus.NewHistogram(prometheus.HistogramOpts{
	Name: "replicaset_controller_sorting_deletion_age_ratio",
	Help: "How many times as old as the youngest ready Pod a ready Pod was that was chosen " +
		"for deletion.",
	Buckets: prometheus.ExponentialBuckets(0.25, 2, 6),
})

func init() { ownmetrics.Register(metrics.Registry, deletionAgeRatio) }

// ageRatios returns the ages of the chosen ready Pods, divided by that of the youngest ready Pod.
// It returns none if the youngest has the age 0 or less: it was created in this second, or the API
// server's clock is ahead.
//
// Kubernetes divides integers, so it rounds the ratios down to integers.
func ageRatios(pods, chosen []*corev1.Pod, now time.Time) (ratios []float64) {
	var youngest time.Time
	for _, pod := range pods {
		if _, ready := podstate.Ready(pod); ready && pod.CreationTimestamp.Time.After(youngest) {
			youngest = pod.CreationTimestamp.Time
		}
	}
	least := now.Sub(youngest)
	if least <= 0 {
		return nil
	}
	for _, pod := range chosen {
		if _, ready := podstate.Ready(pod); ready {
			ratios = append(ratios, float64(now.Sub(pod.CreationTimestamp.Time))/float64(least))
		}
	}
	return ratios
}
