package manager_test

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	theirclient "sigs.k8s.io/controller-runtime/pkg/client"
)

var stories = []story{
	{name: "an object is created, read and gone", play: func(s side, note func(...any)) {
		note(verdict(s.create(aConfigMap("a"))), verdict(s.create(aConfigMap("a"))))
		note(verdict(s.get("default", "a", &corev1.ConfigMap{})), verdict(s.get("other", "a", &corev1.ConfigMap{})))
		note(verdict(s.remove(aConfigMap("a"))), verdict(s.remove(aConfigMap("a"))), verdict(s.update(aConfigMap("a"))))
	}},
	{name: "an old version is a conflict", seeds: objects(aDeployment()), play: func(s side, note func(...any)) {
		d := &appsv1.Deployment{}
		note(verdict(s.get("default", "d", d)))
		old := d.DeepCopy()
		d.Labels = map[string]string{"a": "b"}
		note(verdict(s.update(d)))
		old.Labels = map[string]string{"a": "c"}
		note(verdict(s.update(old)))
		before := old.DeepCopy()
		old.Labels["a"] = "d"
		note(verdict(s.merge(before, old, true)), verdict(s.merge(before, old, false)))
	}},
	{name: "an object of the builder can be updated as it is", seeds: objects(aGizmo("a")), play: func(s side, note func(...any)) {
		u := aGizmo("a")
		note(verdict(s.get("default", "a", u)), u.GetResourceVersion())
		note(verdict(s.update(u)))
	}},
	{name: "an update without a version", seeds: objects(aConfigMap("a")), play: func(s side, note func(...any)) {
		cm := aConfigMap("a")
		cm.Data = map[string]string{"k": "v"}
		note(verdict(s.update(cm)))
	}},
	{name: "an update of a custom resource without a version", seeds: objects(aGizmo("a")),
		differs: "a cluster says Invalid, not Conflict", play: func(s side, note func(...any)) {
			note(verdict(s.update(aGizmo("a"))))
		}},
	{name: "the status of a built-in kind is separate", seeds: objects(aDeployment()), play: func(s side, note func(...any)) {
		d := &appsv1.Deployment{}
		_ = s.get("default", "d", d)
		d.Status.Replicas, d.Spec.Paused = 3, true
		note(verdict(s.updateStatus(d)))
		_ = s.get("default", "d", d)
		note(d.Status.Replicas, d.Spec.Paused)
		d.Status.Replicas, d.Spec.Paused = 4, true
		note(verdict(s.update(d)))
		_ = s.get("default", "d", d)
		note(d.Status.Replicas, d.Spec.Paused)
	}},
	{name: "a status that is created", play: func(s side, note func(...any)) {
		d := aDeployment()
		d.Status.Replicas = 3
		note(verdict(s.create(d)), d.Status.Replicas)
	}, differs: "a cluster ignores the status of a new object"},
	{name: "the status of a kind without the subresource", seeds: objects(aGizmo("a")), play: func(s side, note func(...any)) {
		u := aGizmo("a")
		_ = s.get("default", "a", u)
		note(verdict(s.updateStatus(u)))
	}},
	{name: "the status of what is not there", play: func(s side, note func(...any)) {
		note(verdict(s.updateStatus(aDeployment())))
	}},
	{name: "finalizers", seeds: objects(withFinalizer(aConfigMap("a"))), play: func(s side, note func(...any)) {
		cm := &corev1.ConfigMap{}
		note(verdict(s.remove(aConfigMap("a"))), verdict(s.get("default", "a", cm)), cm.DeletionTimestamp != nil)
		note(verdict(s.remove(aConfigMap("a"))))
		before := cm.DeepCopy()
		cm.Finalizers = nil
		note(verdict(s.merge(before, cm, false)), verdict(s.get("default", "a", cm)))
	}},
	{name: "an object that was being deleted when the test began", seeds: func() []theirclient.Object {
		cm := withFinalizer(aConfigMap("a"))
		at := metav1.NewTime(time.Unix(1_700_000_000, 0))
		cm.SetDeletionTimestamp(&at)
		return []theirclient.Object{cm}
	}, play: func(s side, note func(...any)) {
		cm := &corev1.ConfigMap{}
		note(verdict(s.get("default", "a", cm)), cm.DeletionTimestamp.Unix(), len(cm.Finalizers))
		cm.Finalizers = nil
		note(verdict(s.update(cm)), verdict(s.get("default", "a", cm)))
	}},
	{name: "such an object without finalizers", seeds: func() []theirclient.Object {
		cm, now := aConfigMap("a"), metav1.Now()
		cm.SetDeletionTimestamp(&now)
		return []theirclient.Object{cm}
	}, play: func(side, func(...any)) {}},
	{name: "lists", seeds: objects(aPod("a", "n1"), aPod("b", "n2"), aPod("c", "n1")), play: func(s side, note func(...any)) {
		list := &corev1.PodList{}
		note(verdict(s.list(list, nil, nil)), len(list.Items))
		note(verdict(s.list(list, map[string]string{"on": "n1"}, nil)), len(list.Items))
		note(verdict(s.list(list, nil, map[string]string{"node": "n2"})), len(list.Items))
		note(verdict(s.list(list, map[string]string{"on": "n1"}, map[string]string{"node": "n2"})), len(list.Items))
		note(verdict(s.list(list, nil, map[string]string{"spec.nodeName": "n2"})))
	}},
	{name: "a set is deleted", seeds: objects(aPod("a", ""), aPod("b", "")), play: func(s side, note func(...any)) {
		list := &corev1.PodList{}
		note(verdict(s.removeAll(&corev1.Pod{}, map[string]string{"on": ""})), verdict(s.list(list, nil, nil)), len(list.Items))
	}},
	{name: "a kind that is nowhere known", play: func(s side, note func(...any)) {
		note(verdict(s.create(aGizmo("a"))), verdict(s.get("default", "a", aGizmo("a"))))
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion("shop.example/v1")
		list.SetKind("GizmoList")
		note(verdict(s.list(list, nil, nil)), len(list.Items))
	}},
	{name: "namespaces need not exist", play: func(s side, note func(...any)) {
		cm := aConfigMap("a")
		cm.Namespace = "nowhere"
		note(verdict(s.create(cm)), verdict(s.get("", "nowhere", &corev1.Namespace{})))
	}},
	{name: "generated names", play: func(s side, note func(...any)) {
		cm := aConfigMap("")
		cm.GenerateName = "a-"
		note(verdict(s.create(cm)), len(cm.Name))
	}},
	{name: "a dry run", play: func(s side, note func(...any)) {
		note(verdict(s.dryCreate(aConfigMap("a"))), verdict(s.get("default", "a", aConfigMap("a"))))
	}},
	{name: "a version in a new object", differs: "a cluster says 500 here", play: func(s side, note func(...any)) {
		cm := aConfigMap("a")
		cm.ResourceVersion = "5"
		note(verdict(s.create(cm)))
	}},
	{name: "what a new object gets", differs: "a cluster gives it a UID, a creation timestamp and a generation", play: func(s side, note func(...any)) {
		d := aDeployment()
		_ = s.create(d)
		note(d.UID != "", !d.CreationTimestamp.IsZero(), d.Generation)
	}},
	{name: "generations", seeds: objects(aDeployment()), differs: "a cluster counts changes of the spec", play: func(s side, note func(...any)) {
		d := &appsv1.Deployment{}
		_ = s.get("default", "d", d)
		d.Spec.Paused = true
		note(verdict(s.update(d)), d.Generation)
	}},
	{name: "defaults", differs: "a cluster has them", play: func(s side, note func(...any)) {
		d := aDeployment()
		note(verdict(s.create(d)), d.Spec.Replicas != nil)
	}},
	{name: "an object that is not complete", differs: "a cluster validates", play: func(s side, note func(...any)) {
		note(verdict(s.create(&corev1.Pod{ObjectMeta: meta("a")})))
	}},
	{name: "no namespace", differs: "a cluster needs one", play: func(s side, note func(...any)) {
		note(verdict(s.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}})))
	}},
	{name: "a pod on a node is deleted", seeds: objects(aPod("a", "n1")), differs: "its kubelet would delete it, and there is none", play: func(s side, note func(...any)) {
		note(verdict(s.remove(aPod("a", "n1"))), verdict(s.get("default", "a", &corev1.Pod{})))
	}},
	{name: "versions", differs: "a cluster has one counter, and theirs one for each object", play: func(s side, note func(...any)) {
		a, b := aConfigMap("a"), aConfigMap("b")
		_, _ = s.create(a), s.create(b)
		note(a.ResourceVersion != b.ResourceVersion)
	}},
	{name: "an update that changes nothing", seeds: objects(aConfigMap("a")), differs: "a cluster does not store it", play: func(s side, note func(...any)) {
		cm := &corev1.ConfigMap{}
		_ = s.get("default", "a", cm)
		before := cm.ResourceVersion
		note(verdict(s.update(cm)), before == cm.ResourceVersion)
	}},
	{name: "what lists know of versions", seeds: objects(aConfigMap("a")), differs: "a cluster's lists have one, to watch from", play: func(s side, note func(...any)) {
		list := &corev1.ConfigMapList{}
		note(verdict(s.list(list, nil, nil)), list.ResourceVersion != "")
	}},
}
