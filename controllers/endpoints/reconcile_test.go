package endpoints

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/fake"
	"github.com/loopwright/loopwright/manager/client/interceptor"
	"github.com/loopwright/loopwright/manager/recorder/events"
)

// A controller that creates Endpoints again for a deleted Service has to delete them again; one
// that gives up at an error leaves a Service without Endpoints.
func TestTheServerSaysWhetherAServiceIsStillThere(t *testing.T) {
	service := webService(func(s *corev1.Service) { s.UID = "web-uid" })
	broken := interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey,
		client.Object, ...client.GetOption) error {
		return errors.New("the connection broke")
	}}
	for _, c := range []struct {
		name                string
		there               []client.Object
		funcs               interceptor.Funcs
		isThere, mayGetMore bool
		fails               bool
	}{
		{name: "it is", there: []client.Object{service}, isThere: true, mayGetMore: true},
		{name: "it is gone"},
		{name: "another one has its name",
			there: []client.Object{webService(func(s *corev1.Service) {
				s.UID = "other"
			})}},
		{name: "it is about to go", there: []client.Object{webService(func(s *corev1.Service) {
			s.UID, s.Finalizers, s.DeletionTimestamp = service.UID, []string{"example.com/held"},
				new(metav1.NewTime(noon))
		})}, isThere: true},
		{name: "nobody knows", there: []client.Object{service}, funcs: broken, fails: true},
	} {
		live := fake.NewClientBuilder().WithObjects(c.there...).
			WithInterceptorFuncs(c.funcs).Build()
		isThere, err := (&reconciler{live: live}).isThere(t.Context(), service)
		require.Equal(t, []bool{c.isThere, c.fails}, []bool{isThere, err != nil}, c.name)
		may, err := (&sliceReconciler{live: live}).mayCreate(t.Context(), service, true)
		require.Equal(t, []bool{c.mayGetMore, c.fails}, []bool{may, err != nil}, c.name)
	}
	may, err := (&sliceReconciler{}).mayCreate(t.Context(), service, false)
	require.NoError(t, err)
	require.True(t, may, "nobody has to be asked")
	service.DeletionTimestamp = new(metav1.NewTime(noon))
	may, err = (&sliceReconciler{}).mayCreate(t.Context(), service, false)
	require.NoError(t, err)
	require.False(t, may)
}

// A lost race against another client needs no event, and neither does the end of a namespace.
func TestWhichFailuresAreEvents(t *testing.T) {
	kind := corev1.Resource("endpoints")
	ending := apierrors.NewForbidden(kind, "web", errors.New("it is being deleted"))
	ending.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	for _, c := range []struct {
		err    error
		isNews bool
		isSame bool // not wrapped
	}{
		{nil, false, true}, {ending, false, true},
		{apierrors.NewConflict(kind, "web", nil), false, false},
		{apierrors.NewAlreadyExists(kind, "web"), false, false},
		{apierrors.NewNotFound(kind, "web"), false, false},
		{apierrors.NewForbidden(kind, "web", nil), true, false},
		{errors.New("the connection broke"), true, false},
	} {
		recorder := events.NewFakeRecorder(1)
		err := (&reconciler{events: recorder}).failed(c.err, byHand(), failedToUpdate, "update")
		require.ErrorIs(t, err, c.err)
		require.Equal(t, c.isSame, err == c.err, "%v", c.err)
		require.Len(t, recorder.Events, map[bool]int{true: 1}[c.isNews], "%v", c.err)
	}
	gone, news := apierrors.NewNotFound(kind, "web"), errors.New("the connection broke")
	require.False(t, isNews(errors.Join(gone, apierrors.NewConflict(kind, "web", nil),
		apierrors.NewAlreadyExists(kind, "web"))))
	require.True(t, isNews(errors.Join(gone, news)), "one of them is")
	require.True(t, isNews(errors.Join(gone, errors.Join(news))))
	require.True(t, isNews(news))
}

// The API server warns of Endpoints in each of its answers.
func TestTheWarningsAboutEndpointsAreNotLogged(t *testing.T) {
	mgr := managerOf{config: &rest.Config{Host: "here"}}
	config := quiet{mgr}.GetConfig()
	require.Equal(t, rest.NoWarnings{}, config.WarningHandlerWithContext)
	require.Equal(t, "here", config.Host)
	require.Nil(t, mgr.config.WarningHandlerWithContext, "those of other controllers are")
}

type managerOf struct {
	manager.Manager
	config *rest.Config
}

func (m managerOf) GetConfig() *rest.Config { return m.config }

// Otherwise the controller would read a Node with a hundred Pods a hundred times.
func TestEachNodeIsLookedUpOnce(t *testing.T) {
	lookups := 0
	cache := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
			opts ...client.GetOption) error {
			lookups++
			return c.Get(ctx, key, o, opts...)
		},
	}).WithObjects(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1",
		Labels: map[string]string{"topology.kubernetes.io/zone": "east"}}},
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n2"}}).Build()
	on := func(node string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { pod.Spec.NodeName = node }
	}
	pods := []*corev1.Pod{
		runningPod(1, on("")), runningPod(2), runningPod(3), runningPod(4, on("n2")),
		runningPod(5, on("gone")), runningPod(6, on("gone")),
	}
	found, err := (&sliceReconciler{client: cache}).nodesOf(t.Context(), pods)
	require.NoError(t, err)
	require.Equal(t, nodes{"n1": "east", "n2": ""}, found)
	require.Equal(t, 3, lookups)
}
