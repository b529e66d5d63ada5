package informer

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"github.com/loopwright/loopwright/informer"
)

// BenchmarkColdSync is a reflector's start: from the first request until all
// pods are in a map. One operation is the whole collection.
//
// The server is a process of its own with a prepared answer, so that cpu-ms/op
// and peak-MB are the client's alone: processor time of all its threads, the
// garbage collector's included, and the most that its heap held.
//
// decoding is apimachinery's decoder on the whole answer in memory: what no
// client that uses it can be faster than.
func BenchmarkColdSync(b *testing.B) {
	count := 50_000
	if testing.Short() {
		count = 2_000
	}
	host := startColdServer(b, count)
	for _, way := range []string{"list", "watchlist"} {
		for _, format := range []string{"json", "protobuf"} {
			config := &rest.Config{Host: host + "/" + way, QPS: -1}
			config.ContentType = kruntime.ContentTypeJSON
			if format == "protobuf" {
				config.ContentType = kruntime.ContentTypeProtobuf
			}
			b.Run(way+"/"+format, func(b *testing.B) {
				b.Run("ours", func(b *testing.B) { measure(b, func() { syncOurs(b, config, count) }) })
				b.Run("client-go", func(b *testing.B) { measure(b, func() { syncClientGo(b, config, count) }) })
				b.Run("decoding", func(b *testing.B) { measureDecoding(b, way, config.ContentType, count) })
			})
		}
	}
}

// pods is what a reflector fills: the least that a cache can be.
type pods struct {
	all    map[types.NamespacedName]*corev1.Pod
	synced context.CancelFunc
}

func (p *pods) Replace(items []*corev1.Pod, _ string) {
	p.all = make(map[types.NamespacedName]*corev1.Pod, len(items))
	for _, pod := range items {
		p.all[types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}] = pod
	}
	p.synced()
}
func (p *pods) Apply(informer.Event[*corev1.Pod]) {}
func (p *pods) Progress(string)                   {}

func syncOurs(b *testing.B, config *rest.Config, count int) {
	ctx, cancel := context.WithCancel(b.Context())
	sink := &pods{synced: cancel}
	listWatch, err := informer.NewListWatch[*corev1.Pod](config, corev1.SchemeGroupVersion.WithResource("pods"),
		informer.ListWatchOptions{JSON: config.ContentType == kruntime.ContentTypeJSON})
	if err != nil {
		b.Fatal(err)
	}
	err = informer.NewReflector(listWatch, informer.Sink[*corev1.Pod](sink), informer.ReflectorOptions{}).Run(ctx)
	if err != nil || len(sink.all) != count {
		b.Fatal(len(sink.all), err)
	}
}

// signalling is client-go's store that tells when it was filled.
type signalling struct {
	cache.Store
	synced context.CancelFunc
}

func (s signalling) Replace(items []any, version string) error {
	err := s.Store.Replace(items, version)
	s.synced()
	return err
}

func syncClientGo(b *testing.B, config *rest.Config, count int) {
	ctx, cancel := context.WithCancel(b.Context())
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		b.Fatal(err)
	}
	all := client.CoreV1().Pods("")
	store := signalling{cache.NewStore(cache.MetaNamespaceKeyFunc), cancel}
	cache.NewReflectorWithOptions(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (kruntime.Object, error) {
			return all.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return all.Watch(ctx, options)
		},
	}, &corev1.Pod{}, store, cache.ReflectorOptions{}).RunWithContext(ctx)
	if got := len(store.ListKeys()); got != count {
		b.Fatal(got)
	}
}

// measureDecoding decodes the list, or each event's object, and keeps them all.
func measureDecoding(b *testing.B, way, mediaType string, count int) {
	answer := prepare(count)[way+" "+mediaType]
	info, _ := kruntime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), mediaType)
	decoder := scheme.Codecs.WithoutConversion().DecoderToVersion(info.Serializer, corev1.SchemeGroupVersion)
	measure(b, func() {
		kept := make([]kruntime.Object, 0, count)
		for _, object := range answer.objects {
			decoded, _, err := decoder.Decode(object, nil, nil)
			if err != nil {
				b.Fatal(err)
			}
			kept = append(kept, decoded)
		}
		runtime.KeepAlive(kept)
	})
}

// measure runs an operation and reports what it cost this process.
func measure(b *testing.B, operation func()) {
	var cpu time.Duration
	var peak uint64
	for b.Loop() {
		b.StopTimer()
		runtime.GC()
		heap := watchHeap()
		before := processorTime()
		b.StartTimer()
		operation()
		b.StopTimer()
		cpu += processorTime() - before
		peak = max(peak, heap.stop())
		b.StartTimer()
	}
	b.ReportMetric(float64(cpu.Microseconds())/1000/float64(b.N), "cpu-ms/op")
	b.ReportMetric(float64(peak)/(1<<20), "peak-MB")
}

func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// heapWatch looks at the size of the heap every two milliseconds.
type heapWatch struct {
	end  chan struct{} // closed by stop
	done sync.WaitGroup
	base uint64
	peak uint64
}

func watchHeap() *heapWatch {
	w := &heapWatch{end: make(chan struct{}), base: heapNow()}
	w.done.Go(func() {
		for {
			w.peak = max(w.peak, heapNow())
			select {
			case <-w.end:
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
	})
	return w
}

// stop returns by how much the heap grew at most.
func (w *heapWatch) stop() uint64 {
	close(w.end)
	w.done.Wait()
	return max(w.peak, w.base) - w.base
}

func heapNow() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// coldServer is set in the environment of the process that serves.
const coldServer = "LOOPWRIGHT_BENCHMARK_COLD_SERVER"

// The benchmark starts its own binary as the server.
func init() {
	if os.Getenv(coldServer) == "" {
		return
	}
	var count int
	_, _ = fmt.Sscan(os.Getenv(coldServer), &count)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	answers := prepare(count)
	fmt.Println("http://" + listener.Addr().String())
	go func() { // ends with the benchmark, however that ends
		_, _ = bufio.NewReader(os.Stdin).ReadByte()
		os.Exit(0)
	}()
	panic(http.Serve(listener, answers))
}

func startColdServer(b *testing.B, count int) string {
	server := exec.Command(os.Args[0], "-test.run=^$")
	server.Env = append(os.Environ(), fmt.Sprintf("%s=%d", coldServer, count))
	server.Stderr = os.Stderr
	alive, err := server.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := server.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := server.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = alive.Close(); _ = server.Wait() })
	host, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal("the server did not start: ", err)
	}
	return strings.TrimSpace(host)
}

// answer is a prepared one: all of its bytes, and the objects in it.
type answer struct {
	body    []byte
	objects [][]byte
}

// answers are by way and media type.
type answers map[string]answer

func (a answers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	way, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	mediaType := kruntime.ContentTypeJSON
	if strings.HasPrefix(r.Header.Get("Accept"), kruntime.ContentTypeProtobuf) {
		mediaType = kruntime.ContentTypeProtobuf
	}
	query := r.URL.Query()
	watches, streams := query.Get("watch") != "", query.Get("sendInitialEvents") != ""
	if streams && way == "list" {
		w.Header().Set("Content-Type", kruntime.ContentTypeJSON)
		w.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422}`))
		return
	}
	if watches && mediaType == kruntime.ContentTypeProtobuf {
		w.Header().Set("Content-Type", mediaType+";stream=watch")
	} else {
		w.Header().Set("Content-Type", mediaType)
	}
	if !watches || streams {
		_, _ = w.Write(a[way+" "+mediaType].body)
	}
	if watches {
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
}

func prepare(count int) answers {
	list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "900000"}}
	for i := range count {
		list.Items = append(list.Items, *pod(i))
	}
	out := answers{}
	for _, mediaType := range []string{kruntime.ContentTypeJSON, kruntime.ContentTypeProtobuf} {
		info, _ := kruntime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), mediaType)
		encoder := scheme.Codecs.EncoderForVersion(info.Serializer, corev1.SchemeGroupVersion)
		whole := encode(encoder, list)
		out["list "+mediaType] = answer{body: whole, objects: [][]byte{whole}}
		out["watchlist "+mediaType] = prepareStream(list, info, encoder)
	}
	return out
}

func prepareStream(list *corev1.PodList, info kruntime.SerializerInfo, encoder kruntime.Encoder) answer {
	var out answer
	var body strings.Builder
	framer := info.StreamSerializer.NewFrameWriter(&body)
	send := func(kind watch.EventType, object kruntime.Object) {
		raw := encode(encoder, object)
		frame := encode(info.StreamSerializer.Serializer, &metav1.WatchEvent{Type: string(kind), Object: kruntime.RawExtension{Raw: raw}})
		if _, err := framer.Write(frame); err != nil {
			panic(err)
		}
		if kind == watch.Added {
			out.objects = append(out.objects, raw)
		}
	}
	for i := range list.Items {
		send(watch.Added, &list.Items[i])
	}
	send(watch.Bookmark, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "900000",
		Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}})
	out.body = []byte(body.String())
	return out
}

func encode(encoder kruntime.Encoder, object kruntime.Object) []byte {
	raw, err := kruntime.Encode(encoder, object)
	if err != nil {
		panic(err)
	}
	return raw
}

// pod has what a pod of a Deployment on a real cluster has: owner,
// labels, a token volume, probes, status, and managedFields of three writers.
func pod(i int) *corev1.Pod {
	now := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, i%60, 0, time.UTC))
	name := fmt.Sprintf("web-6d4f5c7b9-%05d", i)
	made := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: fmt.Sprintf("shop-%d", i%50), UID: types.UID(fmt.Sprintf("0b6c0a0e-%012d", i)),
			ResourceVersion: fmt.Sprint(100_000 + i), CreationTimestamp: now, GenerateName: "web-6d4f5c7b9-",
			Labels:      map[string]string{"app": "web", "pod-template-hash": "6d4f5c7b9", "tier": "frontend"},
			Annotations: map[string]string{"prometheus.io/scrape": "true", "prometheus.io/port": "8080"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-6d4f5c7b9",
				UID: "f2a7b6d0-3a63-4a3b-9d55-90d0a6f7c001", Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true)}},
		},
		Spec: corev1.PodSpec{
			NodeName: fmt.Sprintf("node-%d", i%200), ServiceAccountName: "default", RestartPolicy: corev1.RestartPolicyAlways,
			DNSPolicy: corev1.DNSClusterFirst, TerminationGracePeriodSeconds: ptr.To[int64](30), SchedulerName: "default-scheduler",
			Volumes: []corev1.Volume{{Name: "kube-api-access-x", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
				Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: ptr.To[int64](3607)}}}}}}},
			Containers: []corev1.Container{{
				Name: "web", Image: "registry.example.com/shop/web:1.4.2",
				Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}},
				Env:   []corev1.EnvVar{{Name: "MODE", Value: "production"}, {Name: "REGION", Value: "eu-west-1"}},
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
					corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("128Mi")}},
				VolumeMounts:  []corev1.VolumeMount{{Name: "kube-api-access-x", ReadOnly: true, MountPath: "/var/run/secrets/kubernetes.io/serviceaccount"}},
				LivenessProbe: &corev1.Probe{PeriodSeconds: 10, FailureThreshold: 3, TimeoutSeconds: 1},
			}},
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, HostIP: "10.0.0.7", PodIP: fmt.Sprintf("10.244.%d.%d", i/250, i%250), StartTime: &now, QOSClass: corev1.PodQOSBurstable,
			ContainerStatuses: []corev1.ContainerStatus{{Name: "web", Ready: true, Image: "registry.example.com/shop/web:1.4.2",
				ImageID: "registry.example.com/shop/web@sha256:5f0c", ContainerID: fmt.Sprintf("containerd://%064d", i),
				State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}}},
		},
	}
	for _, condition := range []corev1.PodConditionType{corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady, corev1.PodScheduled} {
		made.Status.Conditions = append(made.Status.Conditions, corev1.PodCondition{Type: condition, Status: corev1.ConditionTrue, LastTransitionTime: now})
	}
	for _, manager := range []string{"kube-controller-manager", "kube-scheduler", "kubelet"} {
		made.ManagedFields = append(made.ManagedFields, metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &now,
			FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:metadata":{"f:labels":{".":{},"f:app":{},"f:pod-template-hash":{}}},"f:status":{"f:conditions":{".":{},"k:{\"type\":\"Ready\"}":{".":{},"f:status":{},"f:type":{}}},"f:phase":{},"f:podIP":{}}}`)}})
	}
	return made
}
