package chapters

import (
	"context"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/mini"
)

// A world is an API server in memory, and mini's cache of it. No controller runs by itself: the benchmark calls Reconcile.
type world struct {
	*testing.B
	server *fakeapi.Server
	m      *mini.Manager
}

func newWorld(b *testing.B) *world {
	server := fakeapi.New(fakeapi.Options{AnyNamespace: true})
	b.Cleanup(server.Close)
	w := &world{b, server, mini.NewManager(miniCluster(b, server.Config()))}
	ctx, stop := context.WithCancel(b.Context())
	ended := make(chan error)
	go func() { ended <- w.m.Cache.Run(ctx) }()
	b.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	})
	return w
}

// create writes objects, with their status.
func (w *world) create(objects ...mini.Object) {
	for _, object := range objects {
		ready := object.DeepCopyObject().(mini.Object)
		if err := w.m.Client.Create(w.Context(), object); err != nil {
			w.Fatal(err)
		}
		if pod, ok := object.(*corev1.Pod); ok {
			pod.Status = ready.(*corev1.Pod).Status
			if err := w.m.Client.UpdateStatus(w.Context(), pod); err != nil {
				w.Fatal(err)
			}
		}
	}
}

func (w *world) reconcile(r mini.Reconciler, req mini.Request) {
	if _, err := r.Reconcile(w.Context(), req); err != nil {
		w.Fatal(err)
	}
}

// settle reconciles until there's nothing left to write.
func (w *world) settle(r mini.Reconciler, req mini.Request) {
	for version := uint64(0); version != w.server.ResourceVersion(); {
		version = w.server.ResourceVersion()
		w.reconcile(r, req)
	}
}

// look measures a reconcile that finds nothing to do: that's what nearly all of them are.
func (w *world) look(r mini.Reconciler, req mini.Request) {
	w.settle(r, req)
	before := w.server.ResourceVersion()
	for w.Loop() {
		w.reconcile(r, req)
	}
	if w.server.ResourceVersion() != before {
		w.Fatal("there was something to do")
	}
}

// count fails unless the cache has n objects that the owner controls.
func count[T mini.Object](w *world, owner mini.Object, n int) {
	got, err := mini.OwnedBy[T](w.Context(), w.m.Client, owner)
	if err != nil || len(got) != n {
		w.Fatal(len(got), err)
	}
}

// template makes the Pods of all kinds. Revisions differ in their image.
func template(revision int) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: fmt.Sprint("web:", revision), Ports: []corev1.ContainerPort{{ContainerPort: 80}}}}},
	}
}

func selector() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
}

func named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "default", Name: name}
}

// deployment wants ten Pods of revision 0. It keeps its old ReplicaSets.
func deployment() *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: named("web"), Spec: appsv1.DeploymentSpec{
		Replicas: new(int32(10)), Selector: selector(), Template: template(0), RevisionHistoryLimit: new(int32(1_000)),
		Strategy: appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{}},
	}}
	d.UID = "d"
	return d
}

// oldSets are n ReplicaSets of earlier revisions of a Deployment, with this many Pods each.
func oldSets(d *appsv1.Deployment, n int, replicas int32) []*appsv1.ReplicaSet {
	all := make([]*appsv1.ReplicaSet, n)
	for i := range all {
		made := template(i + 1)
		hash := fmt.Sprint("hash", i)
		made.Labels["pod-template-hash"] = hash
		all[i] = &appsv1.ReplicaSet{ObjectMeta: named(fmt.Sprintf("web-%04d", i)), Spec: appsv1.ReplicaSetSpec{
			Replicas: &replicas, Template: made,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web", "pod-template-hash": hash}},
		}}
		all[i].Labels = made.Labels
		all[i].Annotations = map[string]string{
			"deployment.kubernetes.io/revision": fmt.Sprint(i + 1), "deployment.kubernetes.io/desired-replicas": "10", "deployment.kubernetes.io/max-replicas": "13",
		}
		all[i].OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(d, appsv1.SchemeGroupVersion.WithKind("Deployment"))}
	}
	return all
}
