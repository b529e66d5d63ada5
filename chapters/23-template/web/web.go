// Package web is what the programs of chapters 23 and 24 share: the Deployment web, the controllers
// that keep it, and a gauge that counts its Pods all the time.
package web

import (
	"context"
	"fmt"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

// Version is a label of the Pods: what the user changes in the template.
const Version = "version"

// minReady is in seconds. On a real cluster, kwok's Pods are ready at once, and this is the time that
// a program needs to start. Kubernetes rounds the time of readiness, so it is 1 to 2 seconds.
const minReady = 2

// Deployment returns one whose Pods are of version 1.
func Deployment(d *demo.Demo, replicas int32) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, MinReadySeconds: minReady,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{
					Labels: map[string]string{"app": "web", Version: "1"},
				},
				Spec: corev1.PodSpec{
					Containers: []corev1.Container{{Name: "c", Image: d.Image}},
				},
			},
		},
	}
}

// Change changes the Deployment, as a user does with kubectl.
func Change(ctx context.Context, d *demo.Demo, change func(*appsv1.Deployment)) error {
	api := d.Client.AppsV1().Deployments(d.Namespace)
	for {
		web, err := api.Get(ctx, "web", metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(web)
		if _, err = api.Update(ctx, web, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
			return err
		}
	}
}

// ToVersion is a change of the template.
func ToVersion(version string) func(*appsv1.Deployment) {
	return func(web *appsv1.Deployment) { web.Spec.Template.Labels[Version] = version }
}

// Start runs the controllers of ReplicaSets and of Deployments, the second with this Reconciler. The
// first takes its time before each reconcile, as a busy one does: lag. The gauge counts until stop is
// called, which waits for all of it to end.
func Start(
	ctx context.Context, d *demo.Demo, lag time.Duration,
	reconciler func(*mini.CachedClient) mini.Reconciler,
) (g *Gauge, stop func(), err error) {
	cluster, err := mini.NewCluster(d.Config(), scheme.Scheme)
	if err != nil {
		return nil, nil, err
	}
	cluster.Trace = d.Hidden()
	m := mini.NewManager(cluster)
	deployments := m.Informer(&appsv1.Deployment{})
	sets := m.Informer(&appsv1.ReplicaSet{})
	pods := m.Informer(&corev1.Pod{})
	here := func(c mini.Change) bool { return c.Object().GetNamespace() == d.Namespace }
	ofSet := mini.EnqueueOwner(schema.GroupKind{Group: "apps", Kind: "ReplicaSet"})
	replicaSets := &mini.ReplicaSets{Client: m.Client}
	setController := m.NewController("replicaset", 1, mini.ReconcilerFunc(
		func(ctx context.Context, req mini.Request) (mini.Result, error) {
			demo.Sleep(ctx, lag)
			return replicaSets.Reconcile(ctx, req)
		}))
	setController.Watch(sets, mini.EnqueueObject, here)
	setController.Watch(pods, ofSet, here)
	controller := m.NewController("deployment", 1, reconciler(m.Client))
	controller.Watch(deployments, mini.EnqueueObject, here)
	ofDeployment := mini.EnqueueOwner(schema.GroupKind{Group: "apps", Kind: "Deployment"})
	controller.Watch(sets, ofDeployment, here)
	m.AddController(setController)
	m.AddController(controller)

	g = &Gauge{pods: map[mini.Request]*corev1.Pod{}}
	pods.AddHandler(func(change mini.Change) {
		if here(change) {
			g.saw(change)
		}
	})
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := m.Run(ctx); err != nil {
			d.Say("%v", err)
		}
	}()
	return g, func() { cancel(); <-ended }, nil
}

// Gauge counts Pods: live ones, which are not being deleted, and those of them that are available.
type Gauge struct {
	mu           sync.Mutex // guards all below
	pods         map[mini.Request]*corev1.Pod
	most, fewest int           // live Pods and available ones, since Reset
	dark         time.Duration // for how long none was available, since Reset
	darkSince    time.Time     // zero if one is available
}

func (g *Gauge) saw(change mini.Change) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if change.New == nil {
		delete(g.pods, mini.KeyOf(change.Old))
	} else {
		g.pods[mini.KeyOf(change.New)] = change.New.(*corev1.Pod)
	}
	g.countLocked()
}

func (g *Gauge) countLocked() {
	live, available := 0, 0
	for _, pod := range g.pods {
		if pod.DeletionTimestamp == nil {
			live++
			if isAvailable(pod) {
				available++
			}
		}
	}
	g.most, g.fewest = max(g.most, live), min(g.fewest, available)
	switch {
	case available == 0 && g.darkSince.IsZero():
		g.darkSince = time.Now()
	case available > 0 && !g.darkSince.IsZero():
		g.dark += time.Since(g.darkSince)
		g.darkSince = time.Time{}
	}
}

// Reset forgets what was counted so far.
func (g *Gauge) Reset() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.most, g.fewest, g.dark = 0, 1<<30, 0
	g.countLocked()
}

// Counted returns the most live Pods and the fewest available ones since Reset, and for how long
// none was available.
func (g *Gauge) Counted() (most, fewest int, dark time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.most, g.fewest, g.dark
}

// Wait waits until there are count Pods, all of them available and of this version.
func (g *Gauge) Wait(ctx context.Context, count int, version string) error {
	for range 1200 {
		if g.all(count, version) {
			return nil
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return fmt.Errorf("after a minute, there are not %d available Pods of version %s and no others", count, version)
}

func (g *Gauge) all(count int, version string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.countLocked() // a Pod becomes available without an event
	found := 0
	for _, pod := range g.pods {
		if pod.DeletionTimestamp != nil {
			continue
		}
		if !isAvailable(pod) || pod.Labels[Version] != version {
			return false
		}
		found++
	}
	return found == count
}

func isAvailable(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue &&
				time.Since(c.LastTransitionTime.Time) >= minReady*time.Second
		}
	}
	return false
}
