package endpoints

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/cluster/clustertest"
	"github.com/loopwright/loopwright/controllers"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/controller"
)

func TestMain(m *testing.M) { os.Exit(clustertest.Run(m)) }

// realCluster is the embedded cluster, on which the original controller is switched off, those for
// EndpointSlices are on, and kwok plays the nodes.
type realCluster struct {
	*testing.T
	client.Client
	namespace string
}

func startOnCluster(t *testing.T, probe controllers.ProbeOptions) *realCluster {
	config := clustertest.Config(t)
	config.WarningHandlerWithContext = rest.NoWarnings{}
	c, err := client.New(config, client.Options{})
	require.NoError(t, err)
	r := &realCluster{t, c, clustertest.Namespace(t)}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	options := controllers.Options{
		Controller: controller.Options{MaxConcurrentReconciles: 2}, Probe: probe,
	}
	go func() { ended <- controllers.Run(ctx, config, options, Add) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ended)
	})
	return r
}

// pod creates a Pod, which gets its address from kwok.
func (r *realCluster) pod(name string, changes ...func(*corev1.Pod)) *corev1.Pod {
	r.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: r.namespace, Name: name, Labels: map[string]string{"app": "web"},
		},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: new(int64(1)),
			Containers: []corev1.Container{
				{
					Name: "web", Image: "web",
					Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}},
				},
			},
		},
	}
	for _, change := range changes {
		change(pod)
	}
	require.NoError(r, r.Create(r.Context(), pod))
	require.EventuallyWithT(r, func(t *assert.CollectT) {
		require.NoError(t, r.Get(r.Context(), client.ObjectKeyFromObject(pod), pod))
		require.NotEmpty(t, pod.Status.PodIP)
	}, time.Minute, 20*time.Millisecond)
	return pod
}

// served returns the addresses and ports of a Service in its Endpoints and its EndpointSlices.
func (r *realCluster) served(t require.TestingT, name string) (endpoints, slicesOfIt []string) {
	var e corev1.Endpoints
	require.NoError(t, r.Get(r.Context(), client.ObjectKey{Namespace: r.namespace, Name: name}, &e))
	for _, m := range unpack(e.Subsets) {
		for _, p := range m.ports {
			endpoints = append(endpoints, fmt.Sprintf("%s %s %s %s:%d %t", m.address.TargetRef.Name,
				*m.address.NodeName, m.address.IP, p.Name, p.Port, m.ready))
		}
	}
	var list discoveryv1.EndpointSliceList
	require.NoError(t, r.List(r.Context(), &list, client.InNamespace(r.namespace),
		client.MatchingLabels{discoveryv1.LabelServiceName: name}))
	for _, s := range list.Items {
		require.Equal(t, "endpointslice-controller.k8s.io", s.Labels[discoveryv1.LabelManagedBy],
			"nobody makes slices of our Endpoints")
		for _, e := range s.Endpoints {
			for _, p := range s.Ports {
				if !*e.Conditions.Terminating {
					slicesOfIt = append(slicesOfIt,
						fmt.Sprintf("%s %s %s %s:%d %t", e.TargetRef.Name, *e.NodeName,
							e.Addresses[0], *p.Name, *p.Port, *e.Conditions.Ready))
				}
			}
		}
	}
	slices.Sort(endpoints)
	slices.Sort(slicesOfIt)
	return endpoints, slicesOfIt
}

// agrees waits until the Endpoints have this many entries, and the cluster's own EndpointSlices the
// same ones.
func (r *realCluster) agrees(name string, entries int) {
	r.Helper()
	require.EventuallyWithT(r, func(t *assert.CollectT) {
		ours, theirs := r.served(t, name)
		require.Len(t, ours, entries)
		require.Equal(t, theirs, ours)
	}, time.Minute, 20*time.Millisecond)
}

func TestOnAClusterTheEndpointsSayWhatTheSlicesSay(t *testing.T) {
	r := startOnCluster(t, controllers.ProbeOptions{})
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: r.namespace, Name: "web", Labels: map[string]string{"team": "shop"},
		},
		Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "web"},
			Ports: []corev1.ServicePort{
				{Name: "web", Port: 80, TargetPort: intstr.FromString("http")},
				{Name: "admin", Port: 81, TargetPort: intstr.FromString("admin")},
				{
					Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP,
					TargetPort: intstr.FromInt32(5353),
				},
			}},
	}
	require.NoError(t, r.Create(t.Context(), service))
	one := r.pod("one")
	two := r.pod("two", func(p *corev1.Pod) {
		p.Spec.InitContainers = []corev1.Container{{Name: "side", Image: "side",
			RestartPolicy: new(corev1.ContainerRestartPolicyAlways),
			Ports:         []corev1.ContainerPort{{Name: "admin", ContainerPort: 9000}}}}
	})
	t.Log("two Pods, and a port that only a sidecar has")
	r.agrees("web", 5)

	t.Log("kubectl get endpoints")
	cells := r.table("web")
	require.Equal(t, "web", cells[0])
	require.Regexp(t, `^`+two.Status.PodIP+`:9000,[0-9.]+:5353,[0-9.]+:5353 \+ 2 more\.\.\.$`,
		cells[1])

	t.Log("a Pod that is not ready")
	before := one.DeepCopy()
	for i := range one.Status.Conditions {
		if one.Status.Conditions[i].Type == corev1.PodReady {
			one.Status.Conditions[i].Status = corev1.ConditionFalse
			one.Status.Conditions[i].LastTransitionTime = metav1.Now()
		}
	}
	require.NoError(t, r.Status().Patch(t.Context(), one, client.MergeFrom(before)))
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		ours, _ := r.served(t, "web")
		require.Contains(t, cmp.Or(ours...), " false")
	}, time.Minute, 20*time.Millisecond)
	r.agrees("web", 5)

	t.Log("a Pod that is deleted")
	require.NoError(t, r.Delete(t.Context(), one))
	r.agrees("web", 3)

	t.Log("the API server takes what the controller writes: an update in place of the whole " +
		"object changes nothing")
	e := &corev1.Endpoints{}
	// the controller may write once more in between
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		require.NoError(t, r.Get(r.Context(), client.ObjectKeyFromObject(service), e))
		version := e.ResourceVersion
		require.NoError(t, r.Update(r.Context(), e))
		require.Equal(t, version, e.ResourceVersion)
	}, time.Minute, 20*time.Millisecond)
	require.Equal(t, map[string]string{"team": "shop", managedBy: controllerName}, e.Labels)

	t.Log("the Service is deleted")
	require.NoError(t, r.Delete(t.Context(), service))
	require.Eventually(t, func() bool {
		return apierrors.IsNotFound(r.Get(t.Context(), client.ObjectKeyFromObject(service), e))
	}, time.Minute, 20*time.Millisecond)
}

func TestOnAClusterAHeadlessServiceNeedsNoPorts(t *testing.T) {
	r := startOnCluster(t, controllers.ProbeOptions{Skip: true})
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "db"},
		Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone, Selector: map[string]string{"app": "web"},
		},
	}
	require.NoError(t, r.Create(t.Context(), service))
	pod := r.pod("db-0", func(p *corev1.Pod) { p.Spec.Hostname, p.Spec.Subdomain = "db-0", "db" })
	e := &corev1.Endpoints{}
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		require.NoError(t, r.Get(r.Context(), client.ObjectKeyFromObject(service), e))
		require.Len(t, e.Subsets, 1)
		require.Len(t, e.Subsets[0].Addresses, 1)
	}, time.Minute, 20*time.Millisecond)
	address := e.Subsets[0].Addresses[0]
	require.Equal(t, []string{pod.Status.PodIP, "db-0"}, []string{address.IP, address.Hostname})
	require.Empty(t, e.Subsets[0].Ports)
	require.Contains(t, e.Labels, corev1.IsHeadlessService)
	require.Equal(t, pod.Status.PodIP, r.table("db")[1], "kubectl get endpoints")

	t.Log("without a selector, the Endpoints stay")
	require.NoError(t, r.Patch(t.Context(), service,
		client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"selector":null}}`))))
	other := r.pod("db-1")
	require.NoError(t, r.Delete(t.Context(), other))
	require.NoError(t, r.Get(t.Context(), client.ObjectKeyFromObject(service), e))
	require.Equal(t, address.IP, e.Subsets[0].Addresses[0].IP)
}

// table returns the row that kubectl get endpoints shows: name, addresses, age.
func (r *realCluster) table(name string) (cells []string) {
	r.Helper()
	var table metav1.Table
	require.NoError(r,
		clustertest.Client(r.T).CoreV1().RESTClient().Get().
			Namespace(r.namespace).Resource("endpoints").Name(name).
			SetHeader("Accept", "application/json;as=Table;g=meta.k8s.io;v=v1").
			Do(r.Context()).Into(&table))
	require.Len(r, table.Rows, 1)
	for _, cell := range table.Rows[0].Cells {
		cells = append(cells, fmt.Sprint(cell))
	}
	return cells
}
