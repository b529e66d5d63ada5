package main

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/benchmarks/client/wire"
)

// form is a kind, and how a program holds its objects.
type form struct {
	name     string
	kind     schema.GroupVersionKind
	resource schema.GroupVersionResource
	// empty is an object as a program wants it; full is one as the server has it, with gaps.
	empty, full func() object
}

// object is what every form of an object is, on all sides.
type object interface {
	metav1.Object
	runtime.Object
}

var (
	widgetKind = wire.Widgets.WithKind("Widget")
	widgets    = wire.Widgets.WithResource("widgets")
	podKind    = corev1.SchemeGroupVersion.WithKind("Pod")
	pods       = corev1.SchemeGroupVersion.WithResource("pods")
)

var forms = []form{
	{"metadata", widgetKind, widgets, emptyMetadata, func() object { return fullMetadata() }},
	{"typed", widgetKind, widgets, func() object { return &wire.Widget{} }, func() object { return fullWidget() }},
	{"pods", podKind, pods, func() object { return &corev1.Pod{} }, func() object { return fullPod() }},
}

func emptyMetadata() object {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(widgetKind)
	return m
}

// written is when all objects were created.
var written = metav1.NewTime(time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC))

// meta is the metadata that a controller's object has in most clusters.
func meta(owner, ownerVersion string, fields string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: "shop-" + anyNamespace, Name: "web-" + anyNumber, ResourceVersion: anyVersion, Generation: 1,
		UID: types.UID("0a1b2c3d-0000-4000-8000-00000" + anyNumber), CreationTimestamp: written,
		Labels:      map[string]string{"app.kubernetes.io/name": "web", "app.kubernetes.io/instance": "web-" + anyNamespace},
		Annotations: map[string]string{"example.com/revision": "1"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: ownerVersion, Kind: owner, Name: "web-" + anyNamespace,
			UID: types.UID("7f2a6c3e-1111-4000-8000-00000000" + anyNamespace), Controller: new(true), BlockOwnerDeletion: new(true)}},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "controller", Operation: metav1.ManagedFieldsOperationUpdate,
			APIVersion: ownerVersion, Time: &written, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields)}},
	}
}

func fullWidget() *wire.Widget {
	return &wire.Widget{
		TypeMeta: metav1.TypeMeta{APIVersion: wire.Widgets.String(), Kind: widgetKind.Kind},
		ObjectMeta: meta("Shop", wire.Widgets.String(), `{"f:metadata":{"f:labels":{".":{},"f:app.kubernetes.io/name":{}}},`+
			`"f:spec":{"f:color":{},"f:replicas":{}},"f:status":{"f:phase":{},"f:replicas":{}}}`),
		Spec:   wire.WidgetSpec{Replicas: 3, Color: "green"},
		Status: wire.WidgetStatus{Replicas: 3, Phase: "Running"},
	}
}

func fullMetadata() *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: metav1.SchemeGroupVersion.Identifier(), Kind: "PartialObjectMetadata"},
		ObjectMeta: fullWidget().ObjectMeta,
	}
}

// fullPod is a small Pod that runs: one container, without volumes.
func fullPod() *corev1.Pod {
	pod := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: podKind.Kind},
		ObjectMeta: meta("ReplicaSet", "apps/v1", `{"f:metadata":{"f:labels":{".":{},"f:app.kubernetes.io/name":{}}},"f:spec":{"f:containers":`+
			`{"k:{\"name\":\"web\"}":{".":{},"f:image":{},"f:name":{},"f:ports":{},"f:resources":{}}},"f:dnsPolicy":{},"f:restartPolicy":{}}}`),
		Spec: corev1.PodSpec{
			NodeName: "node-" + anyNamespace, ServiceAccountName: "web", RestartPolicy: corev1.RestartPolicyAlways,
			DNSPolicy: corev1.DNSClusterFirst, SchedulerName: "default-scheduler", TerminationGracePeriodSeconds: new(int64(30)),
			Containers: []corev1.Container{{
				Name: "web", Image: "registry.example.com/shop/web:1.27.3", ImagePullPolicy: corev1.PullIfNotPresent,
				Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}},
				Env:   []corev1.EnvVar{{Name: "MODE", Value: "production"}, {Name: "REGION", Value: "eu-west-1"}},
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
					corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("64Mi")}},
			}},
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, HostIP: "10.0.0.1", PodIP: "10.1.2.3", StartTime: &written, QOSClass: corev1.PodQOSBurstable,
			ContainerStatuses: []corev1.ContainerStatus{{Name: "web", Ready: true, Started: new(true), Image: "registry.example.com/shop/web:1.27.3",
				ContainerID: "containerd://0123456789abcdef0123456789abcdef0123456789abcdef012345678" + anyNumber,
				State:       corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: written}}}},
		},
	}
	for _, condition := range []corev1.PodConditionType{corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady, corev1.PodScheduled} {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: condition, Status: corev1.ConditionTrue, LastTransitionTime: written})
	}
	return pod
}
