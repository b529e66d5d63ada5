package garbagecollector

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/simulation"
	"github.com/loopwright/loopwright/internal/simulation/ours"
	"github.com/loopwright/loopwright/manager/client"
)

// world is a World with this controller.
type world struct{ *simulation.World }

// inWorld runs a test in a bubble. The controller does not run yet.
func inWorld(t *testing.T, test func(t *testing.T, w *world)) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{simulation.New(t, ours.Process(Add))}
		test(t, w)
	})
}

// run starts the controller, and waits until it has nothing to do.
func (w *world) run() {
	w.Start()
	w.Settle()
	w.Server.ForgetRequests()
}

// configMap creates a ConfigMap in the namespace default.
func (w *world) configMap(name string, refs ...metav1.OwnerReference) *corev1.ConfigMap {
	w.T.Helper()
	return w.configMapIn("default", name, refs...)
}

func (w *world) configMapIn(
	namespace, name string, refs ...metav1.OwnerReference,
) *corev1.ConfigMap {
	w.T.Helper()
	made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, OwnerReferences: refs,
	}}
	w.Create(made)
	return made
}

// owner is a blocking reference.
func owner(object client.Object) metav1.OwnerReference {
	kind := "ConfigMap"
	version := "v1"
	switch object.(type) {
	case *appsv1.Deployment:
		kind, version = "Deployment", "apps/v1"
	case *appsv1.ReplicaSet:
		kind, version = "ReplicaSet", "apps/v1"
	case *corev1.Secret:
		kind = "Secret"
	case *corev1.Node:
		kind = "Node"
	}
	return metav1.OwnerReference{
		APIVersion: version, Kind: kind, Name: object.GetName(), UID: object.GetUID(),
		BlockOwnerDeletion: new(true),
	}
}

// named is a ConfigMap to read or delete.
func named(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
}

// keep gives an object a finalizer, so that it stays while it is being deleted.
func (w *world) keep(made *corev1.ConfigMap) { w.finalizers(made, "example.com/slow") }

func (w *world) finalizers(made *corev1.ConfigMap, all ...string) {
	w.T.Helper()
	simulation.Edit(w.World, made, func(m *corev1.ConfigMap) { m.Finalizers = all })
}

// delete deletes an object, and waits until all is quiet.
func (w *world) delete(object client.Object, policy metav1.DeletionPropagation) {
	w.T.Helper()
	require.NoError(w.T, w.Live.Delete(w.T.Context(), object, client.PropagationPolicy(policy)))
	w.Settle()
}

const (
	background = metav1.DeletePropagationBackground
	foreground = metav1.DeletePropagationForeground
	orphan     = metav1.DeletePropagationOrphan
)

// left lists the objects that are there: kind/name, and "-" before those that are being deleted.
func (w *world) left() []string {
	w.T.Helper()
	all := []string{}
	for kind, list := range map[string]client.ObjectList{
		"deployment": &appsv1.DeploymentList{}, "replicaset": &appsv1.ReplicaSetList{},
		"pod": &corev1.PodList{}, "configmap": &corev1.ConfigMapList{},
	} {
		require.NoError(w.T, w.Live.List(w.T.Context(), list))
		for _, object := range itemsOf(w.T, list) {
			name := kind + "/" + object.GetName()
			if object.GetDeletionTimestamp() != nil {
				name = "-" + name
			}
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// owners are the names of the owners of a ConfigMap.
func (w *world) owners(name string) (all []string) {
	w.T.Helper()
	made := named(name)
	w.Read(made)
	for _, ref := range made.OwnerReferences {
		all = append(all, ref.Name)
	}
	return all
}

// tree creates Deployment web -> ReplicaSet web -> Pods a and b, which have no node and so end at
// once when they are deleted.
func (w *world) tree() (*appsv1.Deployment, *appsv1.ReplicaSet) {
	w.T.Helper()
	labels := map[string]string{"app": "web"}
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web"}}},
	}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template,
		},
	}
	w.Create(d)
	rs := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "web", OwnerReferences: []metav1.OwnerReference{owner(d)},
		},
		Spec: appsv1.ReplicaSetSpec{Selector: d.Spec.Selector, Template: template},
	}
	w.Create(rs)
	for _, name := range []string{"a", "b"} {
		w.Create(&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "default", Name: name,
				OwnerReferences: []metav1.OwnerReference{owner(rs)},
			},
			Spec: template.Spec,
		})
	}
	return d, rs
}

var wholeTree = []string{"deployment/web", "pod/a", "pod/b", "replicaset/web"}

// asked counts the controller's requests that match, but for those of discovery.
func (w *world) asked(verb, resource string) int {
	return len(w.Server.Requests(fakeapi.Match{
		UserAgent: simulation.Agent, Verb: verb, Resource: resource,
	}))
}

func itemsOf(t testing.TB, list client.ObjectList) (all []client.Object) {
	switch list := list.(type) {
	case *appsv1.DeploymentList:
		for i := range list.Items {
			all = append(all, &list.Items[i])
		}
	case *appsv1.ReplicaSetList:
		for i := range list.Items {
			all = append(all, &list.Items[i])
		}
	case *corev1.PodList:
		for i := range list.Items {
			all = append(all, &list.Items[i])
		}
	case *corev1.ConfigMapList:
		for i := range list.Items {
			all = append(all, &list.Items[i])
		}
	default:
		t.Fatalf("a %T", list)
	}
	return all
}
