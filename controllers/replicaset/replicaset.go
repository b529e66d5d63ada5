// Package replicaset keeps the number of Pods that each ReplicaSet asks for.
//
// A ReplicaSet and its Pods go in; Pods are created, deleted, adopted and released, and the ReplicaSet's status says
// how many there are. What to do is decided by functions without a clock or a client, each in a file of its own:
// which Pods to delete (rank.go), how many at a time (replicaset.go), the status
// (status.go). The writes whose outcome is not known are kept in expectations.go. The reconciler looks,
// acts, looks again and reports (reconcile.go).
//
// Neighbours: below it are controllers/internal/claim, which decides whose a Pod is, podstate, which decides whether it
// counts, and the manager, which runs it all. Beside it will be the Deployment controller, which makes ReplicaSets.
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
	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/builder"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/metrics"
)

// controllerName is what events say; it is the name of Kubernetes' own controller.
const controllerName = "replicaset-controller"

// kind is what owner references to a ReplicaSet say.
var kind = appsv1.SchemeGroupVersion.WithKind("ReplicaSet")

// probe is a ReplicaSet that wants no Pods, and gets a status all the same.
var probe = controllers.Probe{
	Original: controllerName,
	Object: &appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{
		Replicas: new(int32(0)),
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"loopwright.dev/probe": controllerName}},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"loopwright.dev/probe": controllerName}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "none", Image: "none"}}},
		},
	}},
	IsAnswered: func(o client.Object) bool { return o.(*appsv1.ReplicaSet).Status.ObservedGeneration > 0 },
}

// Add adds the controller to a manager.
//
// Guarantees: as long as nobody else reconciles ReplicaSets, no Pod is created that is too many, and none is deleted
// that is needed, because the cache is old or because an answer was lost: what the controller has written itself, it
// knows. What others write, it knows when the cache does. If somebody else reconciles ReplicaSets when it starts, it
// does not, and the manager's Start returns an error that says what to do.
//
// Caveats: the cache needs all Pods of the namespaces in which it has ReplicaSets. It gets an index for them, so
// Add may be called once for a manager. A process that takes over must not start before what its predecessor has sent
// has arrived; a leader's lease sees to that.
func Add(mgr manager.Manager, options controllers.Options) error {
	return add(mgr, options, rand.String, defaultBurst)
}

// add is Add with a source of random suffixes for names, and a limit for what one look does.
func add(mgr manager.Manager, options controllers.Options, suffix func(length int) string, burst int) error {
	c, waiter, err := controllers.Client(mgr)
	if err != nil {
		return fmt.Errorf("the ReplicaSet controller: %w", err)
	}
	index := claim.Index{Kind: kind.GroupKind()}
	if err := index.Add(context.Background(), mgr.GetFieldIndexer(), &corev1.Pod{}); err != nil {
		return fmt.Errorf("finding the Pods of a ReplicaSet: %w", err)
	}
	r := &reconciler{
		client: c, cached: mgr.GetCache(), live: mgr.GetAPIReader(), waiter: waiter, index: index, suffix: suffix, burst: burst,
		events: mgr.GetEventRecorder(controllerName),
	}
	wanting := claim.Wanting(mgr.GetCache(), &appsv1.ReplicaSetList{}, func(set client.Object) *metav1.LabelSelector {
		return set.(*appsv1.ReplicaSet).Spec.Selector
	})
	build, err := options.Builder(mgr, probe)
	if err != nil {
		return fmt.Errorf("the ReplicaSet controller: %w", err)
	}
	return build.
		For(&appsv1.ReplicaSet{}).
		Owns(&corev1.Pod{}).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(wanting), builder.WithPredicates(claim.BecomesOrphan)).
		Complete(r)
}

// Run runs the controller, and nothing else, until the context ends. A program that wants more than a number of workers
// calls controllers.Run with Add.
func Run(ctx context.Context, config *rest.Config, workers int) error {
	return controllers.Run(ctx, config, controllers.Options{Controller: controller.Options{MaxConcurrentReconciles: workers}}, Add)
}

// defaultBurst is the largest number of Pods that one look creates or deletes. What is left waits for the next look, so
// that a ReplicaSet with a hundred thousand Pods does not act for minutes on what it saw once.
const defaultBurst = 500

// change is what has to happen to the number of Pods. One of the two is 0.
type change struct{ create, remove int }

// changeTo says how to get from the Pods that there are to the Pods that are wanted, in one look that creates or deletes
// no more than so many.
func changeTo(want, have, burst int) change {
	return change{create: min(max(want-have, 0), burst), remove: min(max(have-want, 0), burst)}
}

// batches are the sizes of the groups in which n Pods are created: 1, 2, 4, and so on, which is called a slow start. A
// group begins when the one before has succeeded. If there is a quota, and it is used up, then one request finds that
// out, and not hundreds. A thousand Pods take ten groups.
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

// deletionAgeRatio has the name and the buckets of Kubernetes' own. It shows what comparing times by their logarithm
// does: a Pod that is chosen though it is not the youngest is less than twice as old, unless something else decided.
var deletionAgeRatio = prometheus.NewHistogram(prometheus.HistogramOpts{
	Name:    "replicaset_controller_sorting_deletion_age_ratio",
	Help:    "How many times as old as the youngest ready Pod a ready Pod was that was chosen for deletion.",
	Buckets: prometheus.ExponentialBuckets(0.25, 2, 6),
})

func init() { metrics.Registry.MustRegister(deletionAgeRatio) }

// ageRatios are those of the chosen Pods that are ready, in relation to the youngest ready Pod. There are none if the
// youngest has no age: its second has only begun, or the server's clock is ahead.
//
// Kubernetes divides whole numbers of milliseconds, so that its ratios are whole numbers too, and rounded down.
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
