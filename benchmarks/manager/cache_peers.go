package manager

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	upstreamcache "sigs.k8s.io/controller-runtime/pkg/cache"
	upstreamclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
)

// CachePeer is a cache of pods, as a program sees it. The two sides have the same methods on types of
// their own, so there is a function for each thing that is measured.
type CachePeer struct {
	Get func(context.Context, types.NamespacedName, *corev1.Pod) error
	// List lists a namespace, or all. ByNode selects by an indexed field. ZeroCopy lists what is in the cache.
	List     func(ctx context.Context, into *corev1.PodList, namespace string) error
	ByNode   func(ctx context.Context, into *corev1.PodList, node string) error
	ZeroCopy func(ctx context.Context, into *corev1.PodList) error
	// Stop stops the cache, and waits for it.
	Stop func() error
}

// nodeName is the field of the index that both sides have.
const nodeName = "spec.nodeName"

// OurCache returns a cache that has synced, and what iterates over it.
func OurCache(config *rest.Config) (CachePeer, cache.Cache) {
	c, err := cache.New(config, cache.Options{
		Mapper:                   podMapper(),
		DefaultWatchErrorHandler: func(context.Context, *toolscache.Reflector, error) {}, // a log would end up in the middle of a benchmark's line
	})
	must(err)
	ctx := context.Background()
	must(c.IndexField(ctx, &corev1.Pod{}, nodeName, func(o client.Object) []string { return []string{o.(*corev1.Pod).Spec.NodeName} }))
	stop := run(c.Start)
	if !c.WaitForCacheSync(ctx) {
		panic("our cache has not synced")
	}
	return CachePeer{
		Get: func(ctx context.Context, key types.NamespacedName, into *corev1.Pod) error {
			return c.Get(ctx, key, into)
		},
		List: func(ctx context.Context, into *corev1.PodList, namespace string) error {
			return c.List(ctx, into, client.InNamespace(namespace))
		},
		ByNode: func(ctx context.Context, into *corev1.PodList, node string) error {
			return c.List(ctx, into, client.MatchingFields{nodeName: node})
		},
		ZeroCopy: func(ctx context.Context, into *corev1.PodList) error {
			return c.List(ctx, into, client.UnsafeDisableDeepCopy)
		},
		Stop: stop,
	}, c
}

// TheirCache is controller-runtime's.
func TheirCache(config *rest.Config) CachePeer {
	c, err := upstreamcache.New(config, upstreamcache.Options{Mapper: podMapper()})
	must(err)
	ctx := context.Background()
	must(c.IndexField(ctx, &corev1.Pod{}, nodeName, func(o upstreamclient.Object) []string { return []string{o.(*corev1.Pod).Spec.NodeName} }))
	stop := run(c.Start)
	if !c.WaitForCacheSync(ctx) {
		panic("controller-runtime's cache has not synced")
	}
	return CachePeer{
		Get: func(ctx context.Context, key types.NamespacedName, into *corev1.Pod) error {
			return c.Get(ctx, key, into)
		},
		List: func(ctx context.Context, into *corev1.PodList, namespace string) error {
			return c.List(ctx, into, upstreamclient.InNamespace(namespace))
		},
		ByNode: func(ctx context.Context, into *corev1.PodList, node string) error {
			return c.List(ctx, into, upstreamclient.MatchingFields{nodeName: node})
		},
		ZeroCopy: func(ctx context.Context, into *corev1.PodList) error {
			return c.List(ctx, into, upstreamclient.UnsafeDisableDeepCopy)
		},
		Stop: stop,
	}
}

func podMapper() meta.RESTMapper {
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Pod"), meta.RESTScopeNamespace)
	return mapper
}

// ServePods returns the config of a server that has these pods, and whose watches are silent. It answers from
// memory, with a body that is encoded once.
func ServePods(pods []corev1.Pod) *rest.Config {
	codecs := serializer.NewCodecFactory(scheme.Scheme)
	info, _ := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "1000000"}, Items: pods}
	body, err := runtime.Encode(codecs.EncoderForVersion(info.Serializer, corev1.SchemeGroupVersion), list)
	must(err)
	return &rest.Config{Host: "http://pods", Transport: podServer(body), QPS: -1, ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeProtobuf}}
}

type podServer []byte

// RoundTrip implements http.RoundTripper.
func (p podServer) RoundTrip(r *http.Request) (*http.Response, error) {
	query := r.URL.Query()
	answer := func(status int, mediaType string, body io.ReadCloser) (*http.Response, error) {
		return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {mediaType}}, ContentLength: -1, Body: body, Request: r}, nil
	}
	switch {
	case query.Get("sendInitialEvents") == "true": // both sides list then
		return answer(http.StatusUnprocessableEntity, runtime.ContentTypeJSON, io.NopCloser(strings.NewReader(
			`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422,"message":"no WatchList here"}`)))
	case query.Get("watch") != "":
		reader, writer := io.Pipe()
		context.AfterFunc(r.Context(), func() { _ = writer.CloseWithError(io.EOF) })
		return answer(http.StatusOK, runtime.ContentTypeProtobuf+";stream=watch", reader)
	default:
		return answer(http.StatusOK, runtime.ContentTypeProtobuf, io.NopCloser(bytes.NewReader(p)))
	}
}

// SomePods are pods as a Deployment makes them, in 20 namespaces and on 100 nodes.
func SomePods(n int) []corev1.Pod {
	pods := make([]corev1.Pod, n)
	for i := range pods {
		pods[i] = *somePod(i)
	}
	return pods
}

func podName(i int) types.NamespacedName {
	return types.NamespacedName{Namespace: fmt.Sprintf("shop-%d", i%20), Name: fmt.Sprintf("web-6d4f5c7b9-%05d", i)}
}

func somePod(i int) *corev1.Pod {
	yes, name, now := true, podName(i), metav1.NewTime(time.Unix(1_700_000_000+int64(i), 0))
	access := fmt.Sprintf("kube-api-access-%05x", i*7919) // each pod's has a name of its own
	labels := map[string]string{"app.kubernetes.io/name": "web", "app.kubernetes.io/instance": fmt.Sprintf("web-%d", i%50), "pod-template-hash": "6d4f5c7b9"}
	resources := corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("64Mi")},
		Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("128Mi")},
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: name.Namespace, Name: name.Name, GenerateName: "web-6d4f5c7b9-", UID: types.UID(fmt.Sprintf("0a1b2c3d-0000-4000-8000-%012d", i)),
			ResourceVersion: fmt.Sprint(100_000 + i), CreationTimestamp: now, Labels: labels,
			Annotations:     map[string]string{"prometheus.io/scrape": "true", "checksum/config": fmt.Sprintf("%064d", i%50)},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-6d4f5c7b9", UID: "7f2a6c3e-1111-4000-8000-000000000001", Controller: &yes, BlockOwnerDeletion: &yes}},
			ManagedFields: []metav1.ManagedFieldsEntry{
				{Manager: "kube-controller-manager", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &now, FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:metadata":{"f:annotations":{".":{},"f:checksum/config":{}},"f:generateName":{},"f:labels":{".":{},"f:app.kubernetes.io/name":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{".":{},"f:image":{},"f:name":{},"f:ports":{},"f:resources":{}}},"f:dnsPolicy":{},"f:restartPolicy":{}}}`)}},
				{Manager: "kubelet", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &now, FieldsType: "FieldsV1", Subresource: "status", FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:status":{"f:conditions":{"k:{\"type\":\"Ready\"}":{".":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}}},"f:containerStatuses":{},"f:hostIP":{},"f:phase":{},"f:podIP":{},"f:startTime":{}}}`)}},
			},
		},
		Spec: corev1.PodSpec{
			NodeName: fmt.Sprintf("node-%d", i%100), ServiceAccountName: "web", RestartPolicy: corev1.RestartPolicyAlways, DNSPolicy: corev1.DNSClusterFirst, SchedulerName: "default-scheduler",
			Containers: []corev1.Container{{
				Name: "web", Image: "registry.example.com/shop/web:1.27.3", ImagePullPolicy: corev1.PullIfNotPresent, Resources: resources,
				Ports:          []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}},
				Env:            []corev1.EnvVar{{Name: "MODE", Value: "production"}, {Name: "POD_NAME", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.name"}}}},
				VolumeMounts:   []corev1.VolumeMount{{Name: "config", MountPath: "/etc/web"}, {Name: access, ReadOnly: true, MountPath: "/var/run/secrets/kubernetes.io/serviceaccount"}},
				ReadinessProbe: &corev1.Probe{PeriodSeconds: 10, ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/ready", Port: intstr.FromString("http"), Scheme: corev1.URISchemeHTTP}}},
			}},
			Tolerations: []corev1.Toleration{{Key: "node.kubernetes.io/not-ready", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}, {Key: "node.kubernetes.io/unreachable", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}},
			Volumes: []corev1.Volume{{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "web"}}}}, {Name: access, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
				{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}},
				{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"}, Items: []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}}}},
				{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"}}}}}}}}}},
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, HostIP: "10.0.0.1", PodIP: fmt.Sprintf("10.%d.%d.%d", i>>16&255, i>>8&255, i&255), StartTime: &now, QOSClass: corev1.PodQOSBurstable,
			Conditions: []corev1.PodCondition{
				{Type: corev1.PodInitialized, Status: corev1.ConditionTrue, LastTransitionTime: now}, {Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: now},
				{Type: corev1.ContainersReady, Status: corev1.ConditionTrue, LastTransitionTime: now}, {Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: now}},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "web", Ready: true, Started: &yes, Image: "registry.example.com/shop/web:1.27.3", ContainerID: fmt.Sprintf("containerd://%064d", i), State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}}},
		},
	}
}
