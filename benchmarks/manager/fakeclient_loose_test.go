package manager_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"
	theirclient "sigs.k8s.io/controller-runtime/pkg/client"
)

const cluster = "a cluster does so"

// looseStories are those of tests that rely on controller-runtime's fake client.
var looseStories = []story{
	{name: "a deletion with each propagation policy", differs: cluster, play: func(s side, note func(...any)) {
		for _, policy := range []metav1.DeletionPropagation{metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan, metav1.DeletePropagationBackground} {
			note(verdict(s.create(aDeployment())), verdict(s.removeBy(aDeployment(), policy)), verdict(s.get("default", "d", &appsv1.Deployment{})))
		}
	}},
	{name: "a Job is deleted", differs: cluster, seeds: objects(&batchv1.Job{ObjectMeta: meta("j")}), play: func(s side, note func(...any)) {
		note(verdict(s.remove(&batchv1.Job{ObjectMeta: meta("j")})), verdict(s.get("default", "j", &batchv1.Job{})))
	}},
	{name: "a namespace is deleted, with what is in it", differs: cluster, play: func(s side, note func(...any)) {
		shop := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
		note(verdict(s.create(shop)), whole(shop), verdict(s.create(aConfigMap("a"))))
		note(verdict(s.remove(shop)), verdict(s.get("", "default", shop)), verdict(s.get("default", "a", aConfigMap("a"))))
	}},
	{name: "names and namespaces that are missing", differs: cluster, play: func(s side, note func(...any)) {
		nowhere := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
		note(verdict(s.get("", "a", &corev1.ConfigMap{})), verdict(s.get("default", "", &corev1.ConfigMap{})), verdict(s.get("", "", aGizmo(""))))
		note(verdict(s.remove(nowhere.DeepCopy())), verdict(s.remove(aConfigMap(""))))
		note(verdict(s.create(nowhere)), nowhere.Namespace, verdict(s.get("default", "a", &corev1.ConfigMap{})))
		nowhere.Labels = map[string]string{"a": "b"}
		note(verdict(s.update(nowhere)), verdict(s.patch(nowhere, types.MergePatchType, `{"data":{"k":"v"}}`)))
		note(verdict(s.get("", "a", nowhere)), whole(nowhere))
		list := &corev1.ConfigMapList{}
		note(verdict(s.create(aConfigMap("a"))), verdict(s.list(list, nil, nil)), len(list.Items))
		note(verdict(s.remove(nowhere)), verdict(s.get("", "a", nowhere)), verdict(s.get("default", "a", nowhere)))
	}},
	{name: "objects of the builder without a namespace, or with one too many", differs: cluster, seeds: func() []theirclient.Object {
		gizmo, node := aGizmo("g"), &corev1.Node{ObjectMeta: meta("n")}
		gizmo.SetNamespace("")
		return []theirclient.Object{&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, gizmo, node, aGizmo("h")}
	}, play: func(s side, note func(...any)) {
		pod := &corev1.Pod{}
		note(verdict(s.get("", "a", pod)), whole(pod), verdict(s.get("default", "a", pod)))
		note(verdict(s.get("", "g", aGizmo("g"))), verdict(s.get("default", "h", aGizmo("h"))), verdict(s.get("", "h", aGizmo("h"))))
		note(verdict(s.get("", "n", &corev1.Node{})), verdict(s.get("default", "n", &corev1.Node{})))
		pod.Name, pod.Namespace, pod.Status.Phase = "a", "", corev1.PodRunning
		note(verdict(s.updateStatus(pod)), verdict(s.patchStatus(pod, `{"status":{"reason":"x"}}`)), whole(pod))
	}},
	{name: "what is stored is what was given", differs: cluster, play: func(s side, note func(...any)) {
		born := metav1.Unix(1_500_000_000, 0)
		d := aDeployment()
		d.UID, d.CreationTimestamp, d.Generation, d.Finalizers, d.SelfLink = "my-uid", born, 7, []string{"no-domain"}, "/self"
		d.Labels, d.OwnerReferences = map[string]string{"not a label": ""}, []metav1.OwnerReference{{Name: "x", Kind: "Y"}}
		d.Spec.Selector, d.Status.Replicas = nil, 3
		note(verdict(s.create(d)), whole(d))
		d.UID, d.CreationTimestamp, d.Generation, d.Spec.Selector = "other", metav1.Unix(1_600_000_000, 0), 9, &metav1.LabelSelector{}
		note(verdict(s.update(d)), whole(d))
		got := &appsv1.Deployment{}
		note(verdict(s.get("default", "d", got)), whole(got))
		note(verdict(s.patch(got, types.MergePatchType, `{"metadata":{"uid":"third","generation":11},"spec":{"paused":true}}`)), whole(got))
		secret := &corev1.Secret{ObjectMeta: meta("s"), StringData: map[string]string{"a": "b"}, Immutable: new(true)}
		note(verdict(s.create(secret)), whole(secret))
		secret.StringData["a"] = "c"
		note(verdict(s.update(secret)), whole(secret))
		note(verdict(s.create(&corev1.Service{ObjectMeta: meta("Not.A/Name!"[:3])})))
	}},
	{name: "what the builder stores is what was given", differs: cluster, seeds: func() []theirclient.Object {
		d := aDeployment()
		d.Spec.Selector, d.Status.Replicas, d.Generation = nil, 3, 7
		going := withFinalizer(aConfigMap("going"))
		stamp := metav1.Unix(1_500_000_000, 0)
		going.SetDeletionTimestamp(&stamp)
		return []theirclient.Object{d, going, aPod("p", "n1"), &corev1.Pod{ObjectMeta: meta("empty")}}
	}, play: func(s side, note func(...any)) {
		for name, obj := range map[string]theirclient.Object{"d": &appsv1.Deployment{}} {
			note(verdict(s.get("default", name, obj)), whole(obj))
		}
		cm, list := &corev1.ConfigMap{}, &corev1.PodList{}
		note(verdict(s.get("default", "going", cm)), whole(cm))
		note(verdict(s.list(list, nil, nil)), whole(list))
	}},
	{name: "the versions of one object", differs: cluster, seeds: objects(aConfigMap("seed")), play: func(s side, note func(...any)) {
		a, b, seed := aConfigMap("a"), aGizmo("b"), &corev1.ConfigMap{}
		note(verdict(s.create(a)), a.ResourceVersion, verdict(s.create(b)), b.GetResourceVersion())
		note(verdict(s.get("default", "seed", seed)), seed.ResourceVersion, verdict(s.update(seed)), seed.ResourceVersion)
		note(verdict(s.update(a)), a.ResourceVersion, verdict(s.update(a)), a.ResourceVersion)
		note(verdict(s.patch(b, types.MergePatchType, `{}`)), b.GetResourceVersion())
		note(verdict(s.apply(aGizmo("b"))), verdict(s.get("default", "b", b)), b.GetResourceVersion())
		for _, other := range []string{"1", "0", "none"} {
			a.ResourceVersion = other
			note(verdict(s.update(a)), verdict(s.updateStatus(a)))
		}
		note(verdict(s.remove(a)), verdict(s.create(aConfigMap("a"))), verdict(s.get("default", "a", a)), a.ResourceVersion)
	}},
	{name: "an update without a version is a conflict for a custom resource", differs: cluster, seeds: objects(aGizmo("a")), play: func(s side, note func(...any)) {
		note(verdict(s.update(aGizmo("a"))))
	}},
	{name: "a version in a new object is refused", differs: "a cluster says 500 here", play: func(s side, note func(...any)) {
		cm := aConfigMap("a")
		cm.ResourceVersion = "5"
		note(verdict(s.create(cm)), cm.ResourceVersion)
		applied := aGizmo("a")
		applied.SetResourceVersion("5")
		note(verdict(s.apply(applied)), applied.GetResourceVersion())
	}},
	{name: "an update that creates", differs: cluster, play: func(s side, note func(...any)) {
		versioned, event, limits := &corev1.Service{ObjectMeta: meta("a")}, &corev1.Event{ObjectMeta: meta("b")}, &corev1.LimitRange{ObjectMeta: meta("c")}
		versioned.ResourceVersion, event.UID, limits.UID = "5", "my-uid", "other"
		note(verdict(s.update(versioned)), verdict(s.get("default", "a", &corev1.Service{})))
		note(verdict(s.update(event)), whole(event), verdict(s.update(limits)), whole(limits))
		service := &corev1.Service{ObjectMeta: meta("d"), Status: corev1.ServiceStatus{Conditions: []metav1.Condition{{Type: "Ready"}}}}
		note(verdict(s.update(service)), whole(service), verdict(s.get("default", "d", service)), whole(service))
	}},
	{name: "an apply that creates", differs: cluster, play: func(s side, note func(...any)) {
		known, service := aGizmo("a"), &corev1.Service{ObjectMeta: meta("b"), Status: corev1.ServiceStatus{Conditions: []metav1.Condition{{Type: "Ready"}}}}
		known.SetUID("my-uid")
		service.APIVersion, service.Kind = "v1", "Service"
		note(verdict(s.apply(known)), verdict(s.apply(service)), verdict(s.get("default", "b", service)), whole(service))
	}},
	{name: "a new object without a name", play: func(s side, note func(...any)) { note(verdict(s.create(aConfigMap("")))) }},
	{name: "a deletion that waits for finalizers", differs: cluster, seeds: objects(withFinalizer(aDeployment())), play: func(s side, note func(...any)) {
		d := &appsv1.Deployment{}
		note(verdict(s.remove(aDeployment())), verdict(s.get("default", "d", d)), whole(d))
		note(verdict(s.remove(aDeployment())), verdict(s.get("default", "d", d)), d.ResourceVersion)
		d.DeletionTimestamp = &metav1.Time{Time: d.DeletionTimestamp.AddDate(1, 0, 0)}
		note(s.update(d) != nil)
		note(verdict(s.patch(d, types.JSONPatchType, `[{"op":"remove","path":"/metadata/finalizers"}]`)), verdict(s.get("default", "d", d)))
	}},
	{name: "a deletion that waits for a finalizer, with a period of grace", differs: cluster, seeds: func() []theirclient.Object {
		going, stamp := withFinalizer(aPod("a", "n1")), metav1.Unix(1_500_000_000, 0)
		going.SetDeletionTimestamp(&stamp)
		going.SetDeletionGracePeriodSeconds(new(int64(30)))
		return []theirclient.Object{going}
	}, play: func(s side, note func(...any)) {
		pod := &corev1.Pod{}
		note(verdict(s.get("default", "a", pod)), whole(pod))
		pod.Finalizers = nil
		note(verdict(s.update(pod)), verdict(s.get("default", "a", pod)))
	}},
	{name: "a deletionTimestamp in a new object", play: func(s side, note func(...any)) {
		cm, now := aConfigMap("a"), metav1.Now()
		cm.DeletionTimestamp = &now
		note(verdict(s.create(cm)), cm.DeletionTimestamp == nil, verdict(s.get("default", "a", cm)), cm.DeletionTimestamp == nil)
	}},
	{name: "writes of the status", differs: cluster, seeds: objects(aDeployment()), play: func(s side, note func(...any)) {
		d := &appsv1.Deployment{}
		note(verdict(s.get("default", "d", d)))
		d.Labels, d.Annotations, d.Spec.Paused, d.Status.Replicas = map[string]string{"a": "b"}, map[string]string{"c": "d"}, true, 2
		note(verdict(s.updateStatus(d)), whole(d))
		note(verdict(s.patchStatus(d, `{"metadata":{"labels":{"a":"b"}},"spec":{"paused":true},"status":{"replicas":3}}`)), whole(d))
		note(verdict(s.get("default", "d", d)), whole(d))
		note(verdict(s.patch(d, types.MergePatchType, `{"status":{"replicas":4},"spec":{"paused":true}}`)), whole(d))
	}},
	{name: "the status of a kind of which nobody said that it has the subresource", seeds: objects(aGizmo("a")), play: func(s side, note func(...any)) {
		u := aGizmo("a")
		_ = s.get("default", "a", u)
		note(verdict(s.patchStatus(u, `{"status":{"a":"b"}}`)))
		note(verdict(s.patch(u, types.MergePatchType, `{"status":{"a":"b"}}`)), u.Object["status"])
	}},
	{name: "apply creates and changes", differs: cluster, play: func(s side, note func(...any)) {
		cm := aConfigMap("a")
		cm.APIVersion, cm.Kind, cm.Data = "v1", "ConfigMap", map[string]string{"k": "v"}
		note(verdict(s.apply(cm)), whole(cm.Data), cm.ResourceVersion)
		cm = aConfigMap("a")
		cm.APIVersion, cm.Kind, cm.Data = "v1", "ConfigMap", map[string]string{"l": "w"}
		note(verdict(s.apply(cm)), verdict(s.get("default", "a", cm)), whole(cm))
		u := aGizmo("a")
		u.SetFinalizers([]string{"x"})
		note(verdict(s.apply(u)), whole(u), verdict(s.applyStatus(aGizmo("a"))))
		note(verdict(s.remove(u)), verdict(s.apply(aGizmo("a"))), verdict(s.get("default", "a", u)))
		for _, other := range []string{"0", "none"} {
			u = aGizmo("a")
			note(verdict(s.apply(u)))
			u.SetResourceVersion(other)
			note(verdict(s.apply(u)))
		}
		going := withFinalizer(aGizmo("going"))
		note(verdict(s.create(going)), verdict(s.remove(going)))
		now := metav1.Now()
		going = withFinalizer(aGizmo("going"))
		going.SetDeletionTimestamp(&now)
		note(verdict(s.apply(going)))
		d := aDeployment()
		d.APIVersion, d.Kind, d.Status.Replicas = "apps/v1", "Deployment", 3
		note(verdict(s.apply(d)), verdict(s.get("default", "d", d)), whole(d))
	}},
	{name: "a list comes whole, in order, and has no version", differs: cluster, seeds: objects(aPod("c", ""), aPod("a", ""), aPod("b", "")), play: func(s side, note func(...any)) {
		other := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "another", Name: "z"}}
		note(verdict(s.create(other)))
		list, loose := &corev1.PodList{}, &metav1.PartialObjectMetadataList{}
		note(verdict(s.listPage(list, 2)), whole(list))
		loose.APIVersion, loose.Kind = "v1", "PodList"
		note(verdict(s.list(loose, map[string]string{"on": ""}, nil)), whole(loose))
		empty := &corev1.SecretList{}
		note(verdict(s.list(empty, nil, nil)), whole(empty), empty.Items == nil)
	}},
	{name: "a watch begins with the next change", differs: cluster, seeds: objects(aPod("a", "")), play: func(s side, note func(...any)) {
		w, err := s.watch(&corev1.PodList{})
		note(verdict(err))
		defer w.Stop()
		b := aPod("b", "")
		note(verdict(s.create(b)), verdict(s.update(b)), verdict(s.remove(b)))
		for _, want := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted} {
			e := <-w.ResultChan()
			note(want, e.Type, e.Object.(*corev1.Pod).Name)
		}
	}},
	{name: "an eviction", differs: cluster, seeds: objects(aPod("a", "n1"), &policyv1.PodDisruptionBudget{ObjectMeta: meta("b"),
		Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: new(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{}}}), play: func(s side, note func(...any)) {
		note(verdict(s.subResource("eviction").create(aPod("a", ""), &policyv1.Eviction{})), verdict(s.get("default", "a", &corev1.Pod{})))
		note(verdict(s.subResource("eviction").create(aPod("a", ""), &policyv1.Eviction{})))
	}},
	{name: "a scale", differs: cluster, seeds: objects(&appsv1.Deployment{ObjectMeta: meta("d")}, &corev1.ReplicationController{ObjectMeta: meta("rc")}), play: func(s side, note func(...any)) {
		for _, obj := range []theirclient.Object{&appsv1.Deployment{ObjectMeta: meta("d")}, &corev1.ReplicationController{ObjectMeta: meta("rc")}} {
			scale := &autoscalingv1.Scale{}
			note(verdict(s.subResource("scale").get(obj, scale)), scale.Spec.Replicas, scale.ResourceVersion, scale.Name)
			note(verdict(s.subResource("scale").update(obj, &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 3}})))
			note(verdict(s.subResource("scale").get(obj, scale)), scale.Spec.Replicas, scale.ResourceVersion)
		}
		note(s.subResource("scale").get(aGizmo("g"), &autoscalingv1.Scale{}) != nil)
	}},
	{name: "other subresources", differs: "they are not served", seeds: objects(&certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: "c"}}, aPod("a", ""), aDeployment()), play: func(s side, note func(...any)) {
		csr := &certificatesv1.CertificateSigningRequest{}
		note(verdict(s.get("", "c", csr)))
		csr.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateApproved, Status: "True"}}
		note(verdict(s.patchSub("resize", aPod("a", ""), `{"spec":{"nodeName":"n"}}`)), verdict(s.patchSub("scale", aDeployment(), `{"spec":{"replicas":2}}`)))
		note(verdict(s.subResource("approval").update(csr, nil)), whole(csr), verdict(s.get("", "c", csr)), len(csr.Status.Conditions))
	}},
	{name: "a token", differs: cluster, seeds: objects(&corev1.ServiceAccount{ObjectMeta: meta("a")}), play: func(s side, note func(...any)) {
		request := &authenticationv1.TokenRequest{}
		note(verdict(s.subResource("token").create(&corev1.ServiceAccount{ObjectMeta: meta("a")}, request)), request.Status.Token)
	}},
	{name: "a status that is not separate there, though it is in a cluster", differs: cluster,
		seeds: objects(&autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: meta("h")}), play: func(s side, note func(...any)) {
			note(verdict(s.patch(&autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: meta("h")}, types.MergePatchType, `{"status":{"currentReplicas":3}}`)))
			h := &autoscalingv2.HorizontalPodAutoscaler{}
			note(verdict(s.get("default", "h", h)), h.Status.CurrentReplicas)
		}},
	{name: "a dry run of what exists", differs: cluster, seeds: objects(aConfigMap("a")), play: func(s side, note func(...any)) {
		note(verdict(s.dryCreate(aConfigMap("a"))))
	}},
	{name: "an object that is read into one that is not empty", seeds: objects(aConfigMap("a")), play: func(s side, note func(...any)) {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"old": "one"}, UID: "old"}, Data: map[string]string{"old": "one"}}
		note(verdict(s.get("default", "a", cm)), cm.Data["old"], cm.Labels["old"])
	}},
	{name: "the kind of an object that is updated", seeds: objects(aConfigMap("a")), differs: "in production an object keeps it", play: func(s side, note func(...any)) {
		cm := aConfigMap("a")
		cm.APIVersion, cm.Kind = "v1", "ConfigMap"
		note(verdict(s.update(cm)), cm.Kind, verdict(s.patch(cm, types.MergePatchType, `{}`)), cm.Kind)
	}},
	{name: "the kind of an object", seeds: objects(aConfigMap("a"), aGizmo("g")), play: func(s side, note func(...any)) {
		cm, u := aConfigMap("b"), aGizmo("h")
		cm.APIVersion, cm.Kind = "v1", "ConfigMap"
		note(verdict(s.create(cm)), cm.Kind, verdict(s.update(cm)), cm.Kind, verdict(s.create(u)), u.GetKind())
		cm = &corev1.ConfigMap{}
		note(verdict(s.get("default", "a", cm)), cm.Kind)
		list := &corev1.ConfigMapList{}
		note(verdict(s.list(list, nil, nil)), list.Kind, list.Items[0].Kind)
	}},
	{name: "the scale of an unstructured object", seeds: objects(aDeployment()), differs: cluster, play: func(s side, note func(...any)) {
		u := aGizmo("d")
		u.SetAPIVersion("apps/v1")
		u.SetKind("Deployment")
		note(verdict(s.subResource("scale").get(u, &autoscalingv1.Scale{})))
	}},
	{name: "a call whose context has ended", seeds: objects(aConfigMap("a")), differs: cluster, play: func(s side, note func(...any)) {
		note(s.getTooLate(aConfigMap("a")) == nil)
	}},
	{name: "the mapper of a builder without one", differs: "it knows all kinds", play: func(s side, note func(...any)) {
		namespaced, err := s.isNamespaced(aConfigMap("a"))
		note(namespaced, err == nil)
	}},
	{name: "an update without a version of a kind that allows it", seeds: objects(&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "a"}}), differs: cluster,
		play: func(s side, note func(...any)) {
			note(verdict(s.update(&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Provisioner: "b"})))
		}},
	{name: "a strategic patch of an unstructured object", seeds: objects(aGizmo("a")), differs: cluster, play: func(s side, note func(...any)) {
		note(verdict(s.patch(aGizmo("a"), types.StrategicMergePatchType, `{"spec":{"size":2}}`)))
	}},
	{name: "a patch of what is not there", play: func(s side, note func(...any)) {
		note(verdict(s.patch(aConfigMap("a"), types.MergePatchType, `{}`)), verdict(s.patchStatus(aDeployment(), `{}`)))
	}},
	{name: "generated names, which are long", play: func(s side, note func(...any)) {
		cm := aConfigMap("")
		cm.GenerateName = strings.Repeat("a", 80)
		note(verdict(s.create(cm)), len(cm.Name))
	}},
}

func TestTheFakeClientsTellTheSameStoriesToOldTests(t *testing.T) { tellStories(t, looseStories) }
