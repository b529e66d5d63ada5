package informer

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// tiredPod is what somebody made of a pod: it has the pod's methods, the generated
// ones too, which know nothing of the field.
type tiredPod struct {
	corev1.Pod
	Sleeps bool
}

func (p *tiredPod) DeepCopyObject() runtime.Object { copy := *p; return &copy }

// A change that is taken for none never reaches the store.
func TestObjectsAreTheSameOnlyIfAllTheirFieldsAre(t *testing.T) {
	pod, copy := podAt("a", "1"), podAt("a", "1")
	require.True(t, isSame(pod, pod))
	require.True(t, isSame(pod, copy), "two decoded copies of one object")
	copy.Status.Phase = corev1.PodRunning
	require.False(t, isSame(pod, copy), "another phase")
	require.False(t, isSame(pod, podAt("a", "2")), "another version")

	require.True(t, isSame(&tiredPod{Pod: *pod}, &tiredPod{Pod: *pod}))
	require.False(t, isSame(&tiredPod{Pod: *pod}, &tiredPod{Pod: *pod, Sleeps: true}), "a field that the pod's wire format does not have")

	custom := func(size string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "a"}, "spec": map[string]any{"size": size}}}
	}
	require.True(t, isSame(custom("1"), custom("1")))
	require.False(t, isSame(custom("1"), custom("2")))
}

// podInPlace is an object by value: it has the pod's methods, too, and they know nothing
// of the field.
type podInPlace struct {
	*corev1.Pod
	sleeps bool
}

// An informer may hold whatever its user calls an object. To compare two of them must
// neither crash, nor take two of different types for the same.
func TestObjectsOfAnyTypeCanBeCompared(t *testing.T) {
	pod := podAt("a", "1")
	require.True(t, isSame(podInPlace{Pod: pod}, podInPlace{Pod: podAt("a", "1")}))
	require.False(t, isSame(podInPlace{Pod: pod}, podInPlace{Pod: podAt("a", "1"), sleeps: true}))
	require.False(t, isSame[Object](pod, &tiredPod{Pod: *pod}))
	require.False(t, isSame[Object](&tiredPod{Pod: *pod}, pod))
}

// A transform that removes the last annotation leaves an empty map, and the server sends
// none. That is the same on the wire, and no news for thousands of handlers.
func TestAnEmptyMapAndNoneAreTheSame(t *testing.T) {
	pod, emptied := podAt("a", "1"), podAt("a", "1")
	emptied.Annotations = map[string]string{}
	require.True(t, isSame(pod, emptied))
	meta := func(annotations map[string]string) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "a", Annotations: annotations}}
	}
	require.True(t, isSame(meta(nil), meta(map[string]string{})))
	require.False(t, isSame(meta(nil), meta(map[string]string{"a": "b"})))
}

// BenchmarkIsSame compares a pod with its copy, and decodes it for comparison: this
// is what a relist costs for each object that has not changed.
func BenchmarkIsSame(b *testing.B) {
	pod := podOfUsualSize()
	wire, err := pod.Marshal()
	require.NoError(b, err)
	b.Run("compare", func(b *testing.B) {
		copy := pod.DeepCopy()
		b.ReportAllocs()
		for b.Loop() {
			if !isSame(pod, copy) {
				b.Fatal("a copy is not the same")
			}
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := new(corev1.Pod).Unmarshal(wire); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// podOfUsualSize has two containers, as many pods have.
func podOfUsualSize() *corev1.Pod {
	pod := smallPod(1)
	pod.Labels = map[string]string{"app": "web", "pod-template-hash": "6d4f5c7b9", "tier": "front"}
	pod.Annotations = map[string]string{"checksum": "0123456789", "team": "shop"}
	pod.Spec.Volumes = []corev1.Volume{{Name: "config"}, {Name: "token"}}
	for _, name := range []string{"web", "sidecar"} {
		container := corev1.Container{Name: name, Image: "registry.example/shop/" + name + ":1.2", Args: []string{"--port=80", "--verbose"}}
		for _, variable := range []string{"REGION", "ZONE", "SHOP", "LEVEL", "POOL", "HOST"} {
			container.Env = append(container.Env, corev1.EnvVar{Name: variable, Value: "value"})
		}
		container.VolumeMounts = []corev1.VolumeMount{{Name: "config", MountPath: "/etc/shop"}, {Name: "token", MountPath: "/var/run/secrets"}}
		pod.Spec.Containers = append(pod.Spec.Containers, container)
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: name, Image: container.Image, Ready: true})
	}
	for _, condition := range []corev1.PodConditionType{corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady, corev1.PodScheduled} {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: condition, Status: corev1.ConditionTrue})
	}
	return pod
}
