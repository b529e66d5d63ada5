package hostile_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/client"
)

// widgets is a custom resource, whose kind only discovery knows.
var widgets = fakeapi.Kind{Group: "example.com", Version: "v1", Kind: "Widget"}

func isConflict(err error) bool { return apierrors.IsConflict(err) }

// kindOf is the kind of a typed object.
func kindOf(o runtime.Object) string {
	if kinds, _, err := scheme.Scheme.ObjectKinds(o); err == nil {
		return kinds[0].Kind
	}
	return o.GetObjectKind().GroupVersionKind().Kind
}

// lists is shorthand for the kinds of a story.
func lists(all ...client.ObjectList) func() []client.ObjectList {
	return func() []client.ObjectList {
		var fresh []client.ObjectList
		for _, list := range all {
			fresh = append(fresh, list.DeepCopyObject().(client.ObjectList))
		}
		return fresh
	}
}

// dump is a state: all objects of some kinds, without what the server has generated.
func dump(kinds func() []client.ObjectList) func(*world) string {
	return func(w *world) string {
		var lines []string
		for _, list := range kinds() {
			w.must(w.User.List(w.ctx, list))
			w.must(meta.EachListItem(list, func(item runtime.Object) error {
				lines = append(lines, describe(item.(client.Object)))
				return nil
			}))
		}
		slices.Sort(lines)
		return strings.Join(lines, "\n")
	}
}

// describe is one object in a line.
func describe(o client.Object) string {
	line := []string{classOf(o)}
	if o.GetDeletionTimestamp() != nil {
		line = append(line, "dying")
	}
	if len(o.GetFinalizers()) > 0 {
		line = append(line, fmt.Sprint(o.GetFinalizers()))
	}
	for _, ref := range o.GetOwnerReferences() {
		line = append(line, "of", ref.Kind)
	}
	switch o := o.(type) {
	case *corev1.ConfigMap:
		line = append(line, fmt.Sprint(o.Data))
	case *corev1.Pod:
		for _, container := range o.Spec.Containers {
			line = append(line, container.Image)
		}
		line = append(line, string(o.Status.Phase))
	case *corev1.Namespace:
		line = append(line, string(o.Status.Phase))
	case *corev1.Node:
		for _, taint := range o.Spec.Taints {
			line = append(line, taint.Key)
		}
	case *appsv1.Deployment:
		s := o.Status
		line = append(line, fmt.Sprint(s.ObservedGeneration == o.Generation, s.Replicas,
			s.UpdatedReplicas, s.ReadyReplicas))
	case *appsv1.ReplicaSet:
		line = append(line, fmt.Sprint(*o.Spec.Replicas, o.Status.Replicas, o.Status.ReadyReplicas))
	case *appsv1.DaemonSet:
		line = append(line, fmt.Sprint(o.Status.DesiredNumberScheduled, o.Status.NumberReady))
	case *appsv1.StatefulSet:
		line = append(line, fmt.Sprint(o.Status.Replicas, o.Status.ReadyReplicas))
	case *batchv1.Job:
		line = append(line, fmt.Sprint(o.Status.Succeeded, o.Status.CompletionTime != nil))
	case *corev1.Endpoints: //lint:ignore SA1019 it's the controller's kind
		for _, subset := range o.Subsets {
			line = append(line, fmt.Sprint(len(subset.Addresses), "+", len(subset.NotReadyAddresses)))
		}
	case *discoveryv1.EndpointSlice:
		line = append(line, fmt.Sprint(len(o.Endpoints)))
	}
	return strings.Join(line, " ")
}

// kubelet plays the scheduler and the kubelets, once a second if something has changed.
func kubelet(w *world) {
	ticks := time.NewTicker(time.Second)
	defer ticks.Stop()
	for last := uint64(0); ; {
		select {
		case <-w.ctx.Done():
			return
		case <-ticks.C:
		}
		now := w.Server.ResourceVersion()
		if now == last {
			continue
		}
		last = now
		var pods corev1.PodList
		if w.User.List(w.ctx, &pods) != nil {
			continue // the world has ended
		}
		for i := range pods.Items {
			tend(w, i, &pods.Items[i])
		}
	}
}

// tend does what is next for a Pod. If another client was faster, there's a next time.
func tend(w *world, i int, pod *corev1.Pod) {
	switch {
	case pod.DeletionTimestamp != nil:
		_ = w.User.Delete(w.ctx, pod, client.GracePeriodSeconds(0),
			client.Preconditions{UID: &pod.UID})
	case pod.Spec.NodeName == "":
		_ = w.User.SubResource("binding").Create(w.ctx, pod, &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
			Target:     corev1.ObjectReference{Kind: "Node", Name: nodeFor(i, pod)},
		})
	case pod.Status.Phase == corev1.PodPending:
		pod.Status.Phase, pod.Status.StartTime = corev1.PodRunning, new(metav1.Now())
		pod.Status.PodIP = fmt.Sprint("10.0.0.", 1+i)
		pod.Status.PodIPs = []corev1.PodIP{{IP: pod.Status.PodIP}}
		pod.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodReady, Status: corev1.ConditionTrue,
			LastTransitionTime: metav1.Now(),
		}}
		_ = w.User.Status().Update(w.ctx, pod)
	case pod.Status.Phase == corev1.PodRunning && pod.Spec.RestartPolicy == corev1.RestartPolicyNever:
		pod.Status.Phase = corev1.PodSucceeded
		_ = w.User.Status().Update(w.ctx, pod)
	}
}

// nodeFor is the node that a Pod wants, as a DaemonSet's does, or one of two.
func nodeFor(i int, pod *corev1.Pod) string {
	if pod.Spec.Affinity == nil {
		return fmt.Sprint("n", i%2)
	}
	wanted := pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	return wanted.NodeSelectorTerms[0].MatchFields[0].Values[0]
}

// named is the metadata of an object in the namespace default.
func named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "default", Name: name}
}

var web = map[string]string{"app": "web"}

func template(image string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: web},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "web", Image: image}},
			Tolerations: []corev1.Toleration{{
				Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute,
				TolerationSeconds: new(int64(300)),
			}},
		},
	}
}

func selector() *metav1.LabelSelector { return &metav1.LabelSelector{MatchLabels: web} }

// replicas: of two ReplicaSets of three Pods, one grows and one shrinks by a Pod during the fault,
// and the first one grows again after it.
var replicas = story{
	kinds:   lists(&appsv1.ReplicaSetList{}, &corev1.PodList{}),
	kubelet: true,
	before: func(w *world) {
		for _, name := range []string{"grows", "shrinks"} {
			rs := &appsv1.ReplicaSet{ObjectMeta: named(name), Spec: appsv1.ReplicaSetSpec{
				Replicas: new(int32(3)), Template: template("v1"),
			}}
			label := map[string]string{"app": name}
			rs.Spec.Selector = &metav1.LabelSelector{MatchLabels: label}
			rs.Spec.Template.Labels = label
			w.create(rs)
		}
	},
	during: func(w *world) {
		scale(w, "grows", 4)
		scale(w, "shrinks", 2)
	},
	after: func(w *world) { scale(w, "grows", 5) },
	state: dump(lists(&appsv1.ReplicaSetList{}, &corev1.PodList{})),
}

func scale(w *world, name string, n int32) {
	edit(w, &appsv1.ReplicaSet{ObjectMeta: named(name)}, func(rs *appsv1.ReplicaSet) {
		rs.Spec.Replicas = &n
	})
}

// rollout: a Deployment of three Pods gets a new image during the fault, and a fourth Pod after it.
var rollout = story{
	kinds:   lists(&appsv1.DeploymentList{}, &appsv1.ReplicaSetList{}, &corev1.PodList{}),
	kubelet: true,
	before: func(w *world) {
		w.create(&appsv1.Deployment{ObjectMeta: named("web"), Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(3)), Selector: selector(), Template: template("v1"),
		}})
	},
	during: func(w *world) {
		edit(w, &appsv1.Deployment{ObjectMeta: named("web")}, func(d *appsv1.Deployment) {
			d.Spec.Template = template("v2")
		})
	},
	after: func(w *world) {
		edit(w, &appsv1.Deployment{ObjectMeta: named("web")}, func(d *appsv1.Deployment) {
			d.Spec.Replicas = new(int32(4))
		})
	},
	state: dump(lists(&appsv1.DeploymentList{}, &appsv1.ReplicaSetList{}, &corev1.PodList{})),
}

// addresses: a Service has three Pods. During the fault a Pod goes, and after it one comes.
func addresses(of ...client.ObjectList) story {
	pod := func(name string) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: named(name), Spec: template("v1").Spec}
		p.Labels = web
		return p
	}
	return story{
		kinds:   lists(append(of, &corev1.PodList{}, &corev1.ServiceList{})...),
		kubelet: true,
		before: func(w *world) {
			for _, name := range []string{"n0", "n1"} { // without its Node, a Pod is in no slice
				w.create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
			}
			w.create(&corev1.Service{ObjectMeta: named("web"), Spec: corev1.ServiceSpec{
				Selector: web, ClusterIP: "10.0.0.1", Ports: []corev1.ServicePort{{Port: 80}},
				IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol},
			}}, pod("a"), pod("b"), pod("c"))
		},
		during: func(w *world) { w.must(w.User.Delete(w.ctx, pod("a"))) },
		after:  func(w *world) { w.create(pod("d")) },
		state:  dump(lists(of...)),
	}
}

// garbage: during the fault a user deletes one Deployment with --cascade=orphan, whose ReplicaSet
// and Pods have to stay; one with --cascade=foreground, which has to wait for a Pod with a
// finalizer; and one in the background, whose dependents have to go. After the fault the finalizer
// goes.
var garbage = story{
	kinds: lists(&appsv1.DeploymentList{}, &appsv1.ReplicaSetList{}, &corev1.PodList{}),
	before: func(w *world) {
		for _, name := range []string{"orphan", "foreground", "background", "kept"} {
			family(w, name)
		}
		edit(w, &corev1.Pod{ObjectMeta: named("foreground-a")}, func(pod *corev1.Pod) {
			pod.Finalizers = []string{"example.com/slow"}
		})
	},
	during: func(w *world) {
		for name, policy := range map[string]metav1.DeletionPropagation{
			"orphan":     metav1.DeletePropagationOrphan,
			"foreground": metav1.DeletePropagationForeground,
			"background": metav1.DeletePropagationBackground,
		} {
			d := &appsv1.Deployment{ObjectMeta: named(name)}
			w.must(w.User.Delete(w.ctx, d, client.PropagationPolicy(policy)))
		}
	},
	after: func(w *world) {
		waiting := &appsv1.Deployment{ObjectMeta: named("foreground")}
		if err := w.User.Get(w.ctx, client.ObjectKeyFromObject(waiting), waiting); err != nil {
			w.breaks("the foregroundDeletion finalizer went before the dependents: %v", err)
		}
		edit(w, &corev1.Pod{ObjectMeta: named("foreground-a")}, func(pod *corev1.Pod) {
			pod.Finalizers = nil
		})
	},
	state: dump(lists(&appsv1.DeploymentList{}, &appsv1.ReplicaSetList{}, &corev1.PodList{})),
}

// family creates Deployment -> ReplicaSet -> two Pods.
func family(w *world, name string) {
	spec := template("v1")
	d := &appsv1.Deployment{ObjectMeta: named(name), Spec: appsv1.DeploymentSpec{
		Selector: selector(), Template: spec,
	}}
	w.create(d)
	rs := &appsv1.ReplicaSet{ObjectMeta: named(name), Spec: appsv1.ReplicaSetSpec{
		Selector: selector(), Template: spec,
	}}
	rs.OwnerReferences = owner(d, "Deployment")
	w.create(rs)
	for _, suffix := range []string{"-a", "-b"} {
		pod := &corev1.Pod{ObjectMeta: named(name + suffix), Spec: spec.Spec}
		pod.OwnerReferences = owner(rs, "ReplicaSet")
		w.create(pod)
	}
}

func owner(o client.Object, kind string) []metav1.OwnerReference {
	return []metav1.OwnerReference{{
		APIVersion: "apps/v1", Kind: kind, Name: o.GetName(), UID: o.GetUID(),
		Controller: new(true), BlockOwnerDeletion: new(true),
	}}
}
