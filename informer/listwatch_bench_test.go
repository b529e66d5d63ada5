package informer

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/loopwright/loopwright/internal/tests/inorder"
)

// prepared answers every request with the same bytes, so that what is measured
// is the reader: no network, no server.
type prepared struct {
	mediaType string
	body      []byte
}

func (p prepared) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {p.mediaType}},
		ContentLength: int64(len(p.body)), Body: io.NopCloser(bytes.NewReader(p.body)),
	}, nil
}

// BenchmarkList decodes a list of 10,000 pods such as a Deployment makes them.
// It reports the size of the answer along with time and memory.
func BenchmarkList(b *testing.B) {
	const count = 10_000
	list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "123456"}}
	for i := range count {
		list.Items = append(list.Items, *benchmarkPod(i))
	}
	for name, mediaType := range inorder.Map(map[string]string{"json": jsonType,
		"protobuf": protobufType}) {
		b.Run(name, func(b *testing.B) {
			info, ok := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), mediaType)
			require.True(b, ok)
			body, err := runtime.Encode(scheme.Codecs.EncoderForVersion(info.Serializer,
				corev1.SchemeGroupVersion), list)
			require.NoError(b, err)
			listWatch, err := NewListWatch[*corev1.Pod](&rest.Config{Host: "http://prepared",
				Transport: prepared{mediaType, body}},
				corev1.SchemeGroupVersion.WithResource("pods"), ListWatchOptions{JSON: mediaType == jsonType})
			require.NoError(b, err)

			b.ReportAllocs()
			for b.Loop() {
				pods, err := listWatch.List(b.Context(), metav1.ListOptions{})
				if err != nil || len(pods.Items) != count {
					b.Fatal(len(pods.Items), err)
				}
			}
			b.ReportMetric(float64(len(body)), "wire-bytes/op")
		})
	}
}

// benchmarkPod has what a pod of a Deployment on a real cluster has: owner,
// labels, a token volume, probes, status, and managedFields of three writers.
func benchmarkPod(i int) *corev1.Pod {
	now := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, i%60, 0, time.UTC))
	name := fmt.Sprintf("web-6d4f5c7b9-%05d", i)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: fmt.Sprintf("shop-%d", i%50),
			UID:             types.UID(fmt.Sprintf("0b6c0a0e-%012d", i)),
			ResourceVersion: fmt.Sprint(100_000 + i), CreationTimestamp: now, GenerateName: "web-6d4f5c7b9-",
			Labels: map[string]string{"app": "web", "pod-template-hash": "6d4f5c7b9",
				"tier": "frontend"},
			Annotations: map[string]string{"prometheus.io/scrape": "true", "prometheus.io/port": "8080"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet",
				Name: "web-6d4f5c7b9",
				UID:  "f2a7b6d0-3a63-4a3b-9d55-90d0a6f7c001", Controller: ptr.To(true),
				BlockOwnerDeletion: ptr.To(true)}},
		},
		Spec: corev1.PodSpec{
			NodeName: fmt.Sprintf("node-%d", i%200), ServiceAccountName: "default",
			RestartPolicy: corev1.RestartPolicyAlways,
			DNSPolicy:     corev1.DNSClusterFirst, TerminationGracePeriodSeconds: ptr.To[int64](30),
			SchedulerName: "default-scheduler",
			Volumes: []corev1.Volume{{Name: "kube-api-access-x",
				VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
					Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: ptr.To[int64](3607)}}}}}}},
			Containers: []corev1.Container{{
				Name: "web", Image: "registry.example.com/shop/web:1.4.2",
				Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080,
					Protocol: corev1.ProtocolTCP}},
				Env: []corev1.EnvVar{{Name: "MODE", Value: "production"}, {Name: "REGION",
					Value: "eu-west-1"}},
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
					corev1.ResourceCPU:    resource.MustParse("100m"),
					corev1.ResourceMemory: resource.MustParse("128Mi")}},
				VolumeMounts: []corev1.VolumeMount{{Name: "kube-api-access-x", ReadOnly: true,
					MountPath: "/var/run/secrets/kubernetes.io/serviceaccount"}},
				LivenessProbe: &corev1.Probe{PeriodSeconds: 10, FailureThreshold: 3, TimeoutSeconds: 1},
			}},
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, HostIP: "10.0.0.7", PodIP: fmt.Sprintf("10.244.%d.%d", i/250, i%250),
			StartTime: &now, QOSClass: corev1.PodQOSBurstable,
			ContainerStatuses: []corev1.ContainerStatus{{Name: "web", Ready: true,
				Image:       "registry.example.com/shop/web:1.4.2",
				ImageID:     "registry.example.com/shop/web@sha256:5f0c",
				ContainerID: fmt.Sprintf("containerd://%064d", i),
				State:       corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}}},
		},
	}
	for _, condition := range []corev1.PodConditionType{corev1.PodInitialized, corev1.PodReady,
		corev1.ContainersReady, corev1.PodScheduled} {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: condition,
			Status: corev1.ConditionTrue, LastTransitionTime: now})
	}
	for _, manager := range []string{"kube-controller-manager", "kube-scheduler", "kubelet"} {
		pod.ManagedFields = append(pod.ManagedFields, metav1.ManagedFieldsEntry{Manager: manager,
			Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &now,
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{".":{},"f:app":{},"f:pod-template-hash":{}}},"f:status":{"f:conditions":{".":{},"k:{\"type\":\"Ready\"}":{".":{},"f:status":{},"f:type":{}}},"f:phase":{},"f:podIP":{}}}`)})
	}
	return pod
}

// formOfPods is 10,000 pods as a server sends them to the readers of one form.
type formOfPods struct {
	name      string
	options   ListWatchOptions
	mediaType string
	list      []byte
	stream    []byte // the same as a watch
}

const podsInForm = 10_000

func formsOfPods(b *testing.B) []formOfPods {
	forms := []formOfPods{
		{name: "typed", options: ListWatchOptions{Form: FormTyped}, mediaType: protobufType},
		{name: "typed-json", options: ListWatchOptions{Form: FormTyped, JSON: true}, mediaType: jsonType},
		{name: "metadata", options: ListWatchOptions{Form: FormMetadata}, mediaType: protobufType},
		{name: "unstructured", options: ListWatchOptions{Form: FormUnstructured}, mediaType: jsonType},
	}
	list, partial := &corev1.PodList{}, &metav1.PartialObjectMetadataList{}
	for i := range podsInForm {
		pod := benchmarkPod(i)
		list.Items = append(list.Items, *pod)
		partial.Items = append(partial.Items, metav1.PartialObjectMetadata{ObjectMeta: pod.ObjectMeta})
	}
	for i := range forms {
		form := &forms[i]
		form.options.Kind = podKind
		if form.options.Form == FormMetadata {
			form.list = encodedMetadata(b, partial)
		} else {
			form.list = encoded(b, form.mediaType, list)
		}
		for j := range podsInForm {
			var object runtime.Object = &list.Items[j]
			if form.options.Form == FormMetadata {
				form.stream = appendEvent(b, form.stream, form.mediaType, encodedMetadata(b, &partial.Items[j]))
			} else {
				form.stream = appendEvent(b, form.stream, form.mediaType, encoded(b, form.mediaType, object))
			}
		}
	}
	return forms
}

// appendEvent adds a MODIFIED event to the body of a watch.
func appendEvent(t testing.TB, stream []byte, mediaType string, object []byte) []byte {
	if mediaType == jsonType {
		return fmt.Appendf(stream, `{"type":"MODIFIED","object":%s}`, object)
	}
	event, err := (&metav1.WatchEvent{Type: "MODIFIED",
		Object: runtime.RawExtension{Raw: object}}).Marshal()
	require.NoError(t, err)
	return append(binary.BigEndian.AppendUint32(stream, uint32(len(event))), event...)
}

// BenchmarkForms reads 10,000 pods in each form, all of them under the type Object:
// first as a list, then as events of a watch.
func BenchmarkForms(b *testing.B) {
	for _, form := range formsOfPods(b) {
		read := func(b *testing.B, body []byte) *ListWatch[Object] {
			pods, err := NewListWatch[Object](&rest.Config{Host: "http://prepared",
				Transport: prepared{form.mediaType, body}}, podResource, form.options)
			require.NoError(b, err)
			b.ReportAllocs()
			return pods
		}
		b.Run("list/"+form.name, func(b *testing.B) {
			pods := read(b, form.list)
			for b.Loop() {
				list, err := pods.List(b.Context(), metav1.ListOptions{})
				if err != nil || len(list.Items) != podsInForm {
					b.Fatal(len(list.Items), err)
				}
			}
			b.ReportMetric(float64(len(form.list)), "body-bytes/op")
		})
		b.Run("watch/"+form.name, func(b *testing.B) {
			pods := read(b, form.stream)
			for b.Loop() {
				watching, err := pods.Watch(b.Context(), metav1.ListOptions{ResourceVersion: "1"})
				if err != nil {
					b.Fatal(err)
				}
				count := 0
				for _, err = watching.Next(); err == nil; _, err = watching.Next() {
					count++
				}
				if err != io.EOF || count != podsInForm {
					b.Fatal(count, err)
				}
			}
			b.ReportMetric(float64(len(form.stream)), "body-bytes/op")
		})
	}
}
