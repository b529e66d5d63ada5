package controllers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/loopwright/loopwright/cluster"
)

// badDay is a namespace of a real cluster, on which Kubernetes' own kube-controller-manager works. The test plays the kubelet
// of the node n1.
type badDay struct {
	*testing.T
	kubernetes.Interface
	namespace string
	others    int // made by othersAreServed
}

// docs/bad-days.md says that these stories happen without any fault. So they must happen on a real API server, too, or
// the page blames Kubernetes for what the server in memory does. After each story comes something that the same
// controller does act on: it isn't only slow.
func TestRealServerSeesTheStoriesThatNeedNoFault(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a cluster, which -short leaves out")
	}
	options := cluster.Options{
		Dir: filepath.Join(t.TempDir(), "state"), Ephemeral: true, Out: os.Stderr,
		Originals: []string{"replicaset-controller", "deployment-controller", "endpoints-controller"},
	}
	own, err := cluster.Up(t.Context(), options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cluster.Down(context.Background(), options)) })
	client := kubernetes.NewForConfigOrDie(own.RESTConfig())
	_, err = client.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}},
		metav1.CreateOptions{})
	require.NoError(t, err)
	for name, story := range map[string]func(*badDay){
		"recreate": (*badDay).recreates, "taken": (*badDay).takesASlice,
		"edited": (*badDay).editsEndpoints, "ended": (*badDay).endsAPod,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := client.CoreV1().Namespaces().Create(t.Context(),
				&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
			require.NoError(t, err)
			story(&badDay{T: t, Interface: client, namespace: name})
		})
	}
}

// until waits until something is so.
func (d *badDay) until(what string, is func() bool) {
	d.Helper()
	for end := time.Now().Add(2 * time.Minute); !is(); time.Sleep(100 * time.Millisecond) {
		require.True(d, time.Now().Before(end), "it doesn't come to this: %s", what)
	}
}

// othersAreServed shows that the controllers are at work, and not merely slow: three times, one after the other, they roll a
// Deployment out, and find the Pod of a Service.
func (d *badDay) othersAreServed() {
	d.Helper()
	for range 3 {
		d.others++
		name := fmt.Sprint("other-", d.others)
		d.deploy(name, 1)
		d.until("another Deployment is rolled out", func() bool { return d.sizes(name)["web:1"] == 1 })
		d.set(name, func(s *appsv1.DeploymentSpec) { s.Template.Spec.Containers[0].Image = "web:2" })
		d.until("another Deployment is rolled out again", func() bool { return d.sizes(name)["web:2"] == 1 })
		app := fmt.Sprint("app-", d.others)
		d.serve(app, app)
		d.pod(app, fmt.Sprint("10.9.0.", d.others), corev1.ConditionTrue)
		d.until("another Service has its Pod", func() bool { return len(d.addresses(app)) == 1 && len(d.inSlices(app)) == 1 })
	}
}

// set lets a user change a Deployment.
func (d *badDay) set(name string, change func(*appsv1.DeploymentSpec)) {
	deployments := d.AppsV1().Deployments(d.namespace)
	d.until("the user's update", func() bool { // the controller may write meanwhile
		now, err := deployments.Get(d.Context(), name, metav1.GetOptions{})
		require.NoError(d, err)
		change(&now.Spec)
		_, err = deployments.Update(d.Context(), now, metav1.UpdateOptions{})
		return err == nil
	})
}

func (d *badDay) deploy(name string, replicas int32) {
	labels := map[string]string{"app": name}
	_, err := d.AppsV1().Deployments(d.namespace).Create(d.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:1"}}},
			},
		},
	}, metav1.CreateOptions{})
	require.NoError(d, err)
}

// sizes are those of the ReplicaSets of a Deployment by image.
func (d *badDay) sizes(name string) map[string]int32 {
	list, err := d.AppsV1().ReplicaSets(d.namespace).List(d.Context(), metav1.ListOptions{LabelSelector: "app=" + name})
	require.NoError(d, err)
	sizes := map[string]int32{}
	for _, rs := range list.Items {
		sizes[rs.Spec.Template.Spec.Containers[0].Image] = *rs.Spec.Replicas
	}
	return sizes
}

// recreates: a rollout is stuck, and a user mends it with another image, another strategy and another size at once.
func (d *badDay) recreates() {
	d.deploy("web", 4)
	d.until("four Pods serve", func() bool {
		now, err := d.AppsV1().Deployments(d.namespace).Get(d.Context(), "web", metav1.GetOptions{})
		require.NoError(d, err)
		return now.Status.AvailableReplicas == 4
	})
	d.set("web", func(s *appsv1.DeploymentSpec) {
		s.Template.Spec.Containers[0].Image = "bad:1"
		s.Template.Spec.NodeSelector = map[string]string{"no-node": "has-it"} // its Pods are never ready
	})
	d.until("a rollout has begun", func() bool { return d.sizes("web")["bad:1"] > 0 })
	d.set("web", func(s *appsv1.DeploymentSpec) {
		s.Template.Spec.Containers[0].Image = "web:2"
		s.Template.Spec.NodeSelector = nil
		s.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
		s.Replicas = new(int32(2))
	})
	d.until("the controller has seen it", func() bool {
		now, err := d.AppsV1().Deployments(d.namespace).Get(d.Context(), "web", metav1.GetOptions{})
		require.NoError(d, err)
		return now.Status.ObservedGeneration == now.Generation
	})
	d.othersAreServed()
	sizes := d.sizes("web")
	require.NotContains(d, sizes, "web:2", "it isn't stuck any more: then the page is wrong")
	require.Positive(d, sizes["web:1"])
}

// serve makes a Service that selects an app.
func (d *badDay) serve(name, app string) {
	_, err := d.CoreV1().Services(d.namespace).Create(d.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": app}, Ports: []corev1.ServicePort{{Port: 80}}},
	}, metav1.CreateOptions{})
	require.NoError(d, err)
}

// pod makes a Pod with an address.
func (d *badDay) pod(app, ip string, ready corev1.ConditionStatus) *corev1.Pod {
	pod, err := d.CoreV1().Pods(d.namespace).Create(d.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "pod-" + strings.ReplaceAll(ip, ".", "-"), Labels: map[string]string{"app": app}},
		Spec: corev1.PodSpec{
			NodeName: "n1", RestartPolicy: corev1.RestartPolicyNever,
			Containers: []corev1.Container{{Name: "web", Image: "web:1"}},
		},
	}, metav1.CreateOptions{})
	require.NoError(d, err)
	d.status(pod, corev1.PodRunning, ready, ip)
	return pod
}

// status lets a kubelet write a Pod's status.
func (d *badDay) status(pod *corev1.Pod, phase corev1.PodPhase, ready corev1.ConditionStatus, ip string) {
	patch := fmt.Sprintf(`{"status":{"phase":%q,"conditions":[{"type":"Ready","status":%q}]}}`, phase, ready)
	if ip != "" {
		patch = fmt.Sprintf(`{"status":{"phase":%q,"conditions":[{"type":"Ready","status":%q}],"podIP":%q,"podIPs":[{"ip":%q}]}}`,
			phase, ready, ip, ip)
	}
	_, err := d.CoreV1().Pods(d.namespace).Patch(d.Context(), pod.Name, types.StrategicMergePatchType, []byte(patch),
		metav1.PatchOptions{}, "status")
	require.NoError(d, err)
}

// addresses are those in the Endpoints of a Service, with ! before those that aren't ready.
func (d *badDay) addresses(service string) (all []string) {
	endpoints, err := d.CoreV1().Endpoints(d.namespace).Get(d.Context(), service, metav1.GetOptions{})
	if err != nil {
		return nil
	}
	for _, subset := range endpoints.Subsets {
		for _, a := range subset.Addresses {
			all = append(all, a.IP)
		}
		for _, a := range subset.NotReadyAddresses {
			all = append(all, "!"+a.IP)
		}
	}
	slices.Sort(all)
	return all
}

// inSlices are the addresses in the slices that the controller manages for a Service.
func (d *badDay) inSlices(service string) (all []string) {
	for _, slice := range d.slices(service) {
		for _, e := range slice.Endpoints {
			all = append(all, e.Addresses...)
		}
	}
	slices.Sort(all)
	return all
}

func (d *badDay) slices(service string) []discoveryv1.EndpointSlice {
	list, err := d.DiscoveryV1().EndpointSlices(d.namespace).List(d.Context(), metav1.ListOptions{LabelSelector: fmt.Sprint(
		discoveryv1.LabelServiceName, "=", service, ",", discoveryv1.LabelManagedBy, "=endpointslice-controller.k8s.io")})
	require.NoError(d, err)
	return list.Items
}

// takesASlice: a user takes a slice over, and the Service gets no others any more.
func (d *badDay) takesASlice() {
	d.serve("web", "web")
	d.pod("web", "10.0.0.1", corev1.ConditionTrue)
	d.until("the Pod is in a slice", func() bool { return slices.Equal(d.inSlices("web"), []string{"10.0.0.1"}) })
	for _, slice := range d.slices("web") {
		_, err := d.DiscoveryV1().EndpointSlices(d.namespace).Patch(d.Context(), slice.Name, types.MergePatchType,
			[]byte(`{"metadata":{"labels":{"endpointslice.kubernetes.io/managed-by":"me"}}}`), metav1.PatchOptions{})
		require.NoError(d, err)
	}
	d.pod("web", "10.0.0.2", corev1.ConditionTrue)
	d.serve("other", "web")
	d.until("another Service has both Pods", func() bool { return len(d.inSlices("other")) == 2 })
	d.othersAreServed()
	require.Empty(d, d.slices("web"), "it isn't stuck any more: then the page is wrong")
}

// editsEndpoints: what a user writes stays until the Service or one of its Pods changes.
func (d *badDay) editsEndpoints() {
	d.serve("web", "web")
	d.pod("web", "10.0.1.1", corev1.ConditionTrue)
	d.until("the Pod is in the Endpoints", func() bool { return slices.Equal(d.addresses("web"), []string{"10.0.1.1"}) })
	_, err := d.CoreV1().Endpoints(d.namespace).Patch(d.Context(), "web", types.MergePatchType,
		[]byte(`{"subsets":[{"addresses":[{"ip":"192.0.2.1"}],"ports":[{"port":80}]}]}`), metav1.PatchOptions{})
	require.NoError(d, err)
	d.serve("other", "web")
	d.until("another Service has the Pod", func() bool { return len(d.addresses("other")) == 1 })
	d.othersAreServed()
	require.Equal(d, []string{"192.0.2.1"}, d.addresses("web"), "it's mended: then the page is wrong")
	d.pod("web", "10.0.1.2", corev1.ConditionTrue)
	d.until("a change of the Pods mends it", func() bool { return len(d.addresses("web")) == 2 })
}

// endsAPod: a Pod that has never been ready ends, and stays in the Endpoints and in the slice. If a controller happens to have
// another reason to look at the Service just then, such as a conflict, it sees that the Pod has ended. So there are five tries.
func (d *badDay) endsAPod() {
	for try := range 5 {
		web, ip := fmt.Sprint("web-", try), fmt.Sprint("10.0.2.", try+1)
		d.serve(web, web)
		pod := d.pod(web, ip, corev1.ConditionFalse)
		d.until("the Pod is in the Endpoints", func() bool { return slices.Equal(d.addresses(web), []string{"!" + ip}) })
		d.until("the Pod is in a slice", func() bool { return slices.Equal(d.inSlices(web), []string{ip}) })
		d.othersAreServed()
		d.status(pod, corev1.PodFailed, corev1.ConditionFalse, "")
		d.othersAreServed()
		if slices.Equal(d.addresses(web), []string{"!" + ip}) && slices.Equal(d.inSlices(web), []string{ip}) {
			d.serve("late", web)
			d.until("a Service that's new knows better", func() bool {
				return len(d.slices("late")) == 1 && len(d.inSlices("late")) == 0 && len(d.addresses("late")) == 0
			})
			return
		}
	}
	require.Fail(d, "it's gone each time: then the page is wrong")
}
