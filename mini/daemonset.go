package mini

import (
	"cmp"
	"context"
	"errors"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// DaemonSets is the DaemonSet controller.
//
// Guarantees: once the API server has confirmed a Pod, the controller never creates it a
// second time because its cache is late. A rollout keeps to its fenceposts.
//
// Caveats: if the answer to a creation is lost, the next try may create a second Pod for
// the node, until the cache shows both and a reconcile deletes one. It leaves the Pods of
// a deleted node to the cluster's Pod collector.
type DaemonSets struct {
	Client *CachedClient

	// Burst is how many Pods one reconcile creates or deletes at most; 0 means 250.
	Burst int
}

// NewDaemonSetController returns the controller with its watches. Add it to m.
func NewDaemonSetController(m *Manager) (*Controller, error) {
	sets := m.Informer(&appsv1.DaemonSet{})
	revisions := m.Informer(&appsv1.ControllerRevision{})
	pods := m.Informer(&corev1.Pod{})
	nodes := m.Informer(&corev1.Node{})
	c := m.NewController("daemonset", 2, &DaemonSets{Client: m.Client})
	ofSet := EnqueueOwner(appsv1.SchemeGroupVersion.WithKind("DaemonSet").GroupKind())
	c.Watch(sets, EnqueueObject)
	adopters := enqueueAdopters(sets, func(set Object) *metav1.LabelSelector {
		return set.(*appsv1.DaemonSet).Spec.Selector
	})
	c.Watch(revisions, ofSet)
	c.Watch(revisions, adopters)
	c.Watch(pods, ofSet)
	c.Watch(pods, adopters)
	c.Watch(nodes, func(Change) (all []Request) {
		for _, set := range sets.List() {
			all = append(all, KeyOf(set))
		}
		return all
	}, placementChanged)
	return c, m.err
}

// Reconcile brings one DaemonSet closer to one Pod for each node.
func (c *DaemonSets) Reconcile(ctx context.Context, req Request) (Result, error) {
	ds, err := Get[*appsv1.DaemonSet](ctx, c.Client, req)
	if err != nil {
		return Result{}, IgnoreNotFound(err)
	}
	if ds.DeletionTimestamp != nil {
		return Result{}, nil // the garbage collector is at work
	}
	collisions := ptr.Deref(ds.Status.CollisionCount, 0)
	revisions, err := syncHistory(
		ctx, c.Client, ds, ds.Spec.Selector, &ds.Spec.Template, &collisions)
	if err != nil {
		return Result{}, err
	}
	nodes, err := List[*corev1.Node](ctx, c.Client, Selection{})
	if err != nil {
		return Result{}, err
	}
	pods, err := c.claimPods(ctx, ds)
	if err != nil {
		return Result{}, err
	}
	if err := revisions.dedup(ctx, c.Client, pods, hashOf); err != nil {
		return Result{}, err
	}
	d := getNodesToDaemonPods(ds, revisions.update, nodes, pods, time.Now())
	plan := d.decide()
	failure := c.carryOut(ctx, d, plan)
	status := d.status()
	status.CollisionCount = &collisions
	if !equality.Semantic.DeepEqual(ds.Status, status) { // a write calls us again
		ds.Status = status
		err := c.Client.UpdateStatus(ctx, ds)
		failure = errors.Join(failure, IgnoreNotFound(err)) // deleted a moment ago
	}
	err = truncateHistory(
		ctx, c.Client, revisions.old, pods, ds.Spec.RevisionHistoryLimit)
	return Result{RequeueAfter: plan.next}, errors.Join(failure, err)
}

// claimPods returns the DaemonSet's Pods.
func (c *DaemonSets) claimPods(
	ctx context.Context, ds *appsv1.DaemonSet,
) ([]*corev1.Pod, error) {
	selector, _ := metav1.LabelSelectorAsSelector(ds.Spec.Selector) // checked already
	pods, err := List[*corev1.Pod](ctx, c.Client, Selection{Namespace: ds.Namespace})
	if err != nil {
		return nil, err
	}
	return Claim(ctx, c.Client, ds, selector, pods)
}

// carryOut creates and deletes Pods. If a creation fails, it still deletes, because the
// Pods to be deleted may be in the way.
func (c *DaemonSets) carryOut(
	ctx context.Context, d *nodesToDaemonPods, plan daemonPlan,
) error {
	burst := cmp.Or(c.Burst, 250)
	create := atMost(plan.create, burst)
	return errors.Join(
		slowStartBatch(len(create), func(i int) error {
			return c.Client.Create(ctx, daemonPod(d.ds, d.hash, create[i]))
		}),
		deletePods(ctx, c.Client, atMost(plan.remove, burst)))
}
