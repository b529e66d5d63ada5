package conditions_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/conditions"
)

type world struct {
	*testing.T
	server *fakeapi.Server
	client.Client
}

// inWorld runs a test in a bubble, with a server that has the Service web, with conditions as in
// CRDs.
func inWorld(t *testing.T, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, server: fakeapi.New(fakeapi.Options{AnyNamespace: true})}
		defer w.server.Close()
		var err error
		w.Client, err = client.New(w.server.Config(), client.Options{})
		require.NoError(t, err)
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
			Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
		require.NoError(t, w.Create(t.Context(), service))
		test(w)
	})
}

func (w *world) read() *corev1.Service {
	w.Helper()
	service := &corev1.Service{}
	require.NoError(w, w.Get(w.Context(), client.ObjectKey{Namespace: "shop", Name: "web"},
		service))
	return service
}

func (w *world) writes() (all []string) {
	for _, r := range w.server.Requests(fakeapi.Match{Resource: "services"}) {
		if r.Verb != "get" {
			all = append(all, r.String())
		}
	}
	w.server.ForgetRequests()
	return all
}

func seen(of string, status metav1.ConditionStatus) metav1.Condition {
	return metav1.Condition{Type: of, Status: status, Reason: "Seen"}
}

// Each write wakes all controllers that watch the kind, this one too.
func TestSeveralConditionsAreWrittenAtOnceAndNotAgain(t *testing.T) {
	inWorld(t, func(w *world) {
		w.writes()
		for round, want := range [][]string{{"patch services/status shop/web"}, nil, nil} {
			service := w.read()
			before := service.DeepCopy()
			for _, of := range []string{"Published", "Running", "Ready"} {
				conditions.Set(service, &service.Status.Conditions, seen(of, metav1.ConditionTrue))
			}
			written, err := conditions.Write(w.Context(), w, before, service)
			require.NoError(w, err)
			require.Equal(w, want != nil, written)
			require.Equal(w, want, w.writes(), "round %d", round+1)
			require.Equal(w, w.read(), service, "what the caller holds is what there is")
			time.Sleep(time.Minute)
		}
	})
}

// The other controller would have to find out that its condition is gone, and both would write
// forever.
func TestTheConditionOfAnotherControllerIsNotLost(t *testing.T) {
	inWorld(t, func(w *world) {
		mine, theirs := w.read(), w.read()
		for _, c := range []struct {
			service *corev1.Service
			of      string
		}{{theirs, "Theirs"}, {mine, "Mine"}} {
			before := c.service.DeepCopy()
			conditions.Set(c.service, &c.service.Status.Conditions,
				seen(c.of, metav1.ConditionTrue))
			written, err := conditions.Write(w.Context(), w, before, c.service)
			require.Equal(w, err == nil, written)
			if c.of == "Theirs" {
				require.NoError(w, err)
				continue
			}
			require.True(w, apierrors.IsConflict(err), "%v: the list would be replaced as a whole",
				err)
			require.ErrorContains(w, err, "shop/web")
		}
		again := w.read()
		before := again.DeepCopy()
		conditions.Set(again, &again.Status.Conditions, seen("Mine", metav1.ConditionTrue))
		_, err := conditions.Write(w.Context(), w, before, again)
		require.NoError(w, err)
		require.Len(w, w.read().Status.Conditions, 2)
	})
}

// A user's label would be gone, or an old spec back.
func TestNothingButTheStatusIsWritten(t *testing.T) {
	inWorld(t, func(w *world) {
		service := w.read()
		before := service.DeepCopy()
		service.Labels, service.Spec.Ports[0].Port = map[string]string{"a": "b"}, 81
		w.writes()
		written, err := conditions.Write(w.Context(), w, before, service)
		require.NoError(w, err)
		require.False(w, written)
		require.Empty(w, w.writes())
		conditions.Set(service, &service.Status.Conditions, seen("Ready", metav1.ConditionTrue))
		_, err = conditions.Write(w.Context(), w, before, service)
		require.NoError(w, err)
		require.Empty(w, w.read().Labels)
		require.EqualValues(w, 80, w.read().Spec.Ports[0].Port)
		require.Len(w, w.read().Status.Conditions, 1)
	})
}

// The object of the reconcile is gone, and another one has its name. It is not ready because the
// other one was.
func TestTheStatusOfAnObjectIsNotWrittenToTheNextOneOfItsName(t *testing.T) {
	inWorld(t, func(w *world) {
		service := w.read()
		before := service.DeepCopy()
		require.NoError(w, w.Delete(w.Context(), w.read()))
		conditions.Set(service, &service.Status.Conditions, seen("Ready", metav1.ConditionTrue))
		_, err := conditions.Write(w.Context(), w, before, service)
		require.True(w, apierrors.IsNotFound(err), "%v", err)
		require.NoError(w, w.Create(w.Context(),
			&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
				Spec: before.Spec}))
		_, err = conditions.Write(w.Context(), w, before, service)
		require.True(w, apierrors.IsConflict(err), "%v", err)
		require.Empty(w, w.read().Status.Conditions)
	})
}

// A field of the status that is emptied would stay.
func TestWhatTheStatusDoesNotHaveAnyMoreIsRemoved(t *testing.T) {
	inWorld(t, func(w *world) {
		service := w.read()
		before := service.DeepCopy()
		conditions.Set(service, &service.Status.Conditions, seen("Ready", metav1.ConditionTrue))
		service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "10.0.0.1"}}
		_, err := conditions.Write(w.Context(), w, before, service)
		require.NoError(w, err)
		before = service.DeepCopy()
		service.Status = corev1.ServiceStatus{}
		written, err := conditions.Write(w.Context(), w, before, service)
		require.NoError(w, err)
		require.True(w, written)
		require.Equal(w, corev1.ServiceStatus{}, w.read().Status)
	})
}

// Without a version, the patch would have no lock.
func TestAnObjectThatWasNotReadIsAnError(t *testing.T) {
	inWorld(t, func(w *world) {
		_, err := conditions.Write(w.Context(), w,
			&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"}}, w.read())
		require.ErrorContains(w, err, "no resourceVersion")
	})
}

// The kinds of a user's own may have no Go type.
func TestAnUnstructuredObjectHasAStatusToo(t *testing.T) {
	inWorld(t, func(w *world) {
		free := &unstructured.Unstructured{}
		free.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Service"))
		require.NoError(w, w.Get(w.Context(), client.ObjectKey{Namespace: "shop", Name: "web"},
			free))
		before := free.DeepCopy()
		require.NoError(w, unstructured.SetNestedField(free.Object,
			[]any{map[string]any{"ip": "10.0.0.1"}}, "status", "loadBalancer", "ingress"))
		written, err := conditions.Write(w.Context(), w, before, free)
		require.NoError(w, err)
		require.True(w, written)
		require.Equal(w, "10.0.0.1", w.read().Status.LoadBalancer.Ingress[0].IP)
	})
}

// list is an object that is no JSON object.
type list struct{ unstructured.Unstructured }

func (l *list) MarshalJSON() ([]byte, error) { return []byte("[]"), nil }

// The patch would be empty, and the status never be written.
func TestAnObjectThatCannotBeEncodedIsAnError(t *testing.T) {
	inWorld(t, func(w *world) {
		good, broken, odd := w.read(), &unstructured.Unstructured{Object: map[string]any{"status": make(chan int)}}, &list{}
		odd.Object = map[string]any{}
		for _, c := range []struct {
			bad   client.Object
			cause string
		}{{broken, "chan int"}, {odd, "cannot unmarshal array"}} {
			c.bad.SetName("web")
			c.bad.SetResourceVersion("1")
			for _, pair := range [][2]client.Object{{good, c.bad}, {c.bad, good}} {
				_, err := conditions.Write(w.Context(), w, pair[0], pair[1])
				require.ErrorContains(w, err, "web: ")
				require.ErrorContains(w, err, c.cause)
			}
		}
	})
}
