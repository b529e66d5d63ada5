package mini_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/mini"
)

//lint:file-ignore SA1019 Endpoints are deprecated, and still the simplest picture.

// Each write of Endpoints is answered with a warning that they are deprecated.
func init() { rest.SetDefaultWarningHandler(rest.NoWarnings{}) }

// runEndpoints runs a manager with the Endpoints controller.
func (w *world) runEndpoints() {
	w.Helper()
	m := mini.NewManager(w.Cluster)
	c, err := mini.NewEndpointsController(m)
	require.NoError(w, err)
	m.AddController(c)
	w.run(m.Run)
}

func (w *world) addService(s *corev1.Service) *corev1.Service {
	w.Helper()
	s, err := w.Other.CoreV1().Services(s.Namespace).Create(w.ctx, s, metav1.CreateOptions{})
	require.NoError(w, err)
	return s
}

// changeService is what kubectl edit does.
func (w *world) changeService(name string, change func(*corev1.Service)) {
	w.Helper()
	s, err := w.Other.CoreV1().Services("default").Get(w.ctx, name, metav1.GetOptions{})
	require.NoError(w, err)
	change(s)
	_, err = w.Other.CoreV1().Services("default").Update(w.ctx, s, metav1.UpdateOptions{})
	require.NoError(w, err)
}

// addServingPod creates the Pod, and writes its status as the kubelet does.
func (w *world) addServingPod(pod *corev1.Pod) *corev1.Pod {
	w.Helper()
	pods := w.Other.CoreV1().Pods(pod.Namespace)
	status := pod.Status
	pod = pod.DeepCopy()
	pod.UID = ""
	pod, err := pods.Create(w.ctx, pod, metav1.CreateOptions{})
	require.NoError(w, err)
	pod.Status = status
	pod, err = pods.UpdateStatus(w.ctx, pod, metav1.UpdateOptions{})
	require.NoError(w, err)
	return pod
}

// endpoints returns what the API server has when all is quiet, or nil.
func (w *world) endpoints(name string) *corev1.Endpoints {
	w.Helper()
	synctest.Wait()
	e, err := w.Other.CoreV1().Endpoints("default").Get(w.ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(w, err)
	return e
}

// addresses returns the summary of a Service's Endpoints, which must be there.
func (w *world) addresses(name string) []string {
	w.Helper()
	e := w.endpoints(name)
	require.NotNil(w, e, "Service %s has no Endpoints", name)
	return summary(e.Subsets)
}

func TestTheEndpointsOfAServiceAreItsPods(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runEndpoints()
		s := service("web")
		s.Labels = map[string]string{"team": "a"}
		w.addService(s)
		require.Empty(w, w.addresses("web"), "a Service without Pods has empty Endpoints")

		pod := w.addServingPod(servingPod("a", "10.0.0.1"))
		stranger := servingPod("x", "10.0.0.9")
		stranger.Labels = map[string]string{"app": "other"}
		w.addServingPod(stranger)
		require.Equal(w, []string{"10.0.0.1 | http:8080"}, w.addresses("web"))
		e := w.endpoints("web")
		require.Equal(w, map[string]string{
			"team": "a", "endpoints.kubernetes.io/managed-by": "endpoint-controller",
		}, e.Labels)
		require.Equal(w, pod.UID, e.Subsets[0].Addresses[0].TargetRef.UID)

		_, err := w.Other.CoreV1().Pods("default").UpdateStatus(w.ctx, setReady(pod, corev1.ConditionFalse), metav1.UpdateOptions{})
		require.NoError(w, err)
		require.Equal(w, []string{"| 10.0.0.1 http:8080"}, w.addresses("web"))
		require.NoError(w, w.Other.CoreV1().Pods("default").Delete(w.ctx, "a", metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}))
		require.Empty(w, w.addresses("web"))
	})
}

func TestAPodWhoseLabelsChangeLeavesOneServiceAndEntersAnother(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runEndpoints()
		w.addService(service("web"))
		w.addService(service("canary"))
		pod := w.addServingPod(servingPod("a", "10.0.0.1"))
		require.Len(w, w.addresses("web"), 1)
		require.Empty(w, w.addresses("canary"))

		pod.Labels = map[string]string{"app": "canary"}
		pod, err := w.Other.CoreV1().Pods("default").Update(w.ctx, pod, metav1.UpdateOptions{})
		require.NoError(w, err)
		require.Empty(w, w.addresses("web"), "the Pod still gets the traffic of the Service that it has left")
		require.Len(w, w.addresses("canary"), 1)

		pod.Labels = nil
		_, err = w.Other.CoreV1().Pods("default").Update(w.ctx, pod, metav1.UpdateOptions{})
		require.NoError(w, err)
		require.Empty(w, w.addresses("canary"))
	})
}

func TestTheEndpointsFollowTheService(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runEndpoints()
		w.addServingPod(servingPod("a", "10.0.0.1"))
		other := servingPod("b", "10.0.0.2")
		other.Labels = map[string]string{"app": "other"}
		w.addServingPod(other)
		s := service("web")
		s.Labels = map[string]string{"old": "1"}
		w.addService(s)
		require.Equal(w, []string{"10.0.0.1 | http:8080"}, w.addresses("web"))
		w.changeService("web", func(s *corev1.Service) {
			s.Spec.Selector, s.Labels = map[string]string{"app": "other"}, map[string]string{"new": "1"}
			s.Spec.Ports[0].TargetPort.IntVal = 9090
		})
		require.Equal(w, []string{"10.0.0.2 | http:9090"}, w.addresses("web"))
		require.NotContains(w, w.endpoints("web").Labels, "old")
		require.Contains(w, w.endpoints("web").Labels, "new")
	})
}

func TestPodsOfAnotherNamespaceAreNotInTheEndpoints(t *testing.T) {
	inMemory(t, func(w *world) {
		_, err := w.Other.CoreV1().Namespaces().Create(w.ctx,
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other"}}, metav1.CreateOptions{})
		require.NoError(w, err)
		w.runEndpoints()
		w.addService(service("web"))
		pod := servingPod("a", "10.0.0.1")
		pod.Namespace = "other"
		w.addServingPod(pod)
		require.Empty(w, w.addresses("web"))
	})
}

func TestTheEndpointsOfADeletedServiceAreDeleted(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runEndpoints()
		w.addService(service("web"))
		require.NotNil(w, w.endpoints("web"))
		require.NoError(w, w.Other.CoreV1().Services("default").Delete(w.ctx, "web", metav1.DeleteOptions{}))
		require.Nil(w, w.endpoints("web"))
	})
}

func TestEndpointsAreDeletedIfTheirServiceWasDeletedWhileTheControllerWasDown(t *testing.T) {
	inMemory(t, func(w *world) {
		left := &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{
			Name: "web", Labels: map[string]string{"endpoints.kubernetes.io/managed-by": "endpoint-controller"},
		}}
		_, err := w.Other.CoreV1().Endpoints("default").Create(w.ctx, left, metav1.CreateOptions{})
		require.NoError(w, err)
		w.runEndpoints()
		require.Nil(w, w.endpoints("web"))
	})
}

func TestEndpointsThatUsersWriteAreLeftAlone(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runEndpoints()
		written := func(name string) *corev1.Endpoints {
			e, err := w.Other.CoreV1().Endpoints("default").Create(w.ctx, &corev1.Endpoints{
				ObjectMeta: metav1.ObjectMeta{Name: name},
				Subsets:    []corev1.EndpointSubset{{Addresses: []corev1.EndpointAddress{{IP: "192.168.0.1"}}}},
			}, metav1.CreateOptions{})
			require.NoError(w, err)
			return e
		}
		early, database, external := written("early"), written("database"), written("external")
		s := service("database")
		s.Spec.Selector = nil
		w.addService(s)
		s = service("external")
		s.Spec.Type, s.Spec.ExternalName, s.Spec.ClusterIP = corev1.ServiceTypeExternalName, "example.com", ""
		w.addService(s)
		w.addServingPod(servingPod("a", "10.0.0.1"))
		require.Equal(w, early, w.endpoints("early"), "the Service is yet to come")
		require.Equal(w, database, w.endpoints("database"), "the Service has no selector")
		require.Equal(w, external, w.endpoints("external"), "the Service is a name for another one")
	})
}

func TestAServiceWithoutASelectorSelectsNoPods(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runEndpoints()
		s := service("web")
		s.Spec.Selector = nil
		w.addService(s)
		w.addServingPod(servingPod("a", "10.0.0.1"))
		require.Nil(w, w.endpoints("web"))
	})
}

func TestEndpointsThatAnotherClientSpoilsAreRepaired(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runEndpoints()
		w.addService(service("web"))
		w.addServingPod(servingPod("a", "10.0.0.1"))
		w.addresses("web")
		api := w.Other.CoreV1().Endpoints("default")
		for _, spoil := range []func(*corev1.Endpoints){
			func(e *corev1.Endpoints) { e.Subsets = nil },
			func(e *corev1.Endpoints) { e.Labels = nil },
			func(e *corev1.Endpoints) {
				e.Annotations = map[string]string{corev1.EndpointsOverCapacity: "truncated"}
			},
		} {
			e := w.endpoints("web")
			e.Annotations = map[string]string{"theirs": "stays"}
			spoil(e)
			_, err := api.Update(w.ctx, e, metav1.UpdateOptions{})
			require.NoError(w, err)
			require.Equal(w, []string{"10.0.0.1 | http:8080"}, w.addresses("web"))
			require.Contains(w, w.endpoints("web").Labels, "endpoints.kubernetes.io/managed-by")
			require.NotContains(w, w.endpoints("web").Annotations, corev1.EndpointsOverCapacity)
		}
		require.NoError(w, api.Delete(w.ctx, "web", metav1.DeleteOptions{}))
		require.Equal(w, []string{"10.0.0.1 | http:8080"}, w.addresses("web"))
		e := w.endpoints("web")
		e.Annotations = map[string]string{"theirs": "stays"}
		e.Subsets = nil
		_, err := api.Update(w.ctx, e, metav1.UpdateOptions{})
		require.NoError(w, err)
		require.Len(w, w.addresses("web"), 1)
		require.Equal(w, map[string]string{"theirs": "stays"}, w.endpoints("web").Annotations)
	})
}

func TestEqualContentIsNotWrittenAgain(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runEndpoints()
		s := service("web")
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: "admin", Port: 81, AppProtocol: new("http")})
		w.addService(s)
		first := w.addServingPod(servingPod("a", "10.0.0.1"))
		w.addServingPod(servingPod("b", "10.0.0.2"))
		e := w.endpoints("web")

		// The API server may store the same content in another layout.
		subset := e.Subsets[0]
		e.Subsets = nil
		for _, port := range []int{1, 0} {
			e.Subsets = append(e.Subsets, corev1.EndpointSubset{
				Addresses: []corev1.EndpointAddress{subset.Addresses[1], subset.Addresses[0]},
				Ports:     []corev1.EndpointPort{subset.Ports[port]},
			})
		}
		w.Server.ForgetRequests()
		e, err := w.Other.CoreV1().Endpoints("default").Update(w.ctx, e, metav1.UpdateOptions{})
		require.NoError(w, err)
		synctest.Wait()
		first.Status.Message = "nothing that concerns a Service"
		_, err = w.Other.CoreV1().Pods("default").UpdateStatus(w.ctx, first, metav1.UpdateOptions{})
		require.NoError(w, err)
		synctest.Wait()
		written := w.Server.Requests(fakeapi.Match{Verb: "update", Resource: "endpoints"})
		require.Len(w, written, 1, "the other client's update is the only one that was needed")
		require.Equal(w, e.ResourceVersion, w.endpoints("web").ResourceVersion)
	})
}

func TestAHeadlessServiceIsMarkedForKubeProxy(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runEndpoints()
		w.addService(service("web"))
		headless := service("headless")
		headless.Spec.ClusterIP = corev1.ClusterIPNone
		w.addService(headless)
		pending := service("pending")
		pending.Spec.ClusterIP = ""
		w.addService(pending)
		liar := service("liar")
		liar.Labels = map[string]string{corev1.IsHeadlessService: "", "endpoints.kubernetes.io/managed-by": "me"}
		w.addService(liar)
		require.NotContains(w, w.endpoints("web").Labels, corev1.IsHeadlessService)
		require.Contains(w, w.endpoints("headless").Labels, corev1.IsHeadlessService)
		require.Contains(w, w.endpoints("pending").Labels, corev1.IsHeadlessService)
		require.Equal(w, map[string]string{
			"endpoints.kubernetes.io/managed-by": "endpoint-controller",
		}, w.endpoints("liar").Labels, "these labels are the controller's")
	})
}

func TestEndpointsSayIfTheyAreTruncated(t *testing.T) {
	var pods []*corev1.Pod
	for i := range 1001 {
		pods = append(pods, servingPod(fmt.Sprint("pod-", i), fmt.Sprintf("10.0.%d.%d", i/250, i%250)))
	}
	empty := &corev1.Endpoints{}
	e := mini.EndpointsFor(service("web"), pods, empty)
	require.Equal(t, &corev1.Endpoints{}, empty, "the current Endpoints belong to the caller")
	require.Equal(t, "truncated", e.Annotations[corev1.EndpointsOverCapacity])
	e = mini.EndpointsFor(service("web"), pods[1:], e)
	require.NotContains(t, e.Annotations, corev1.EndpointsOverCapacity)
}

func TestAWriteThatFailsIsTriedAgain(t *testing.T) {
	for _, verb := range []string{"create", "update", "delete"} {
		t.Run(verb, func(t *testing.T) {
			inMemory(t, func(w *world) {
				w.runEndpoints()
				w.Server.Inject(fakeapi.Fault{
					Match: fakeapi.Match{Verb: verb, Resource: "endpoints"}, Times: 2, Status: fakeapi.InternalError(),
				})
				w.addService(service("web"))
				time.Sleep(time.Second)
				w.addServingPod(servingPod("a", "10.0.0.1"))
				time.Sleep(time.Second)
				require.Len(w, w.addresses("web"), 1)
				require.NoError(w, w.Other.CoreV1().Services("default").Delete(w.ctx, "web", metav1.DeleteOptions{}))
				time.Sleep(time.Second)
				require.Nil(w, w.endpoints("web"))
			})
		})
	}
}
