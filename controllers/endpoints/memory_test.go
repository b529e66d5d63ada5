package endpoints

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/internal/simulation"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/fake"
	"github.com/loopwright/loopwright/manager/client/interceptor"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/manager/recorder/events"
)

// A controller that mistook another client's write for its own would not correct it; in the
// opposite case it would reconcile without need.
func TestAControllerKnowsItsOwnWrites(t *testing.T) {
	var m memory
	require.False(t, m.isOwnWrite(webKey, ""), "nothing is known of it")
	require.Empty(t, m.of, "and nothing is kept for it")
	m.writes(webKey)
	require.True(t, m.isOwnWrite(webKey, "4"), "its answer has not come")
	require.True(t, m.isOwnWrite(webKey, "5"))
	require.False(t, m.wrote(webKey, "5", noon), "nobody has written since")
	require.True(t, m.isOwnWrite(webKey, "5"))
	require.False(t, m.isOwnWrite(webKey, "6"), "somebody else has written that")
	require.False(t, m.isOwnWrite(client.ObjectKey{Namespace: "default", Name: "other"}, "5"))
	require.Equal(t, noon, m.about(webKey).restEnd)

	m.writes(webKey)
	require.False(t, m.wrote(webKey, "7", noon), "what was seen before the write does not count")
	m.writes(webKey)
	m.isOwnWrite(webKey, "8")
	m.isOwnWrite(webKey, "9")
	require.True(t, m.wrote(webKey, "8", noon), "somebody else was faster than the answer")

	m.writes(webKey)
	m.failedToWrite(webKey)
	require.False(t, m.isOwnWrite(webKey, "10"))
	require.True(t, m.isOwnWrite(webKey, "8"), "the last one that was confirmed")
	m.forget(webKey)
	require.Empty(t, m.of)
}

func TestWhatALookHasSeenIsRemembered(t *testing.T) {
	var m memory
	seen := timesAt(map[string]int{"a": 1})
	m.looked(webKey, seen)
	m.rests(webKey, noon)
	require.Equal(t, remembered{times: seen, restEnd: noon}, m.about(webKey))
	require.Zero(t, m.about(client.ObjectKey{Name: "other"}))
}

// The memory of a Service that is gone would stay forever.
func TestEndpointsOfAServiceThatIsGoneAreForgotten(t *testing.T) {
	live := fake.NewFakeClient()
	r := &reconciler{client: live, live: live}
	r.memory.looked(webKey, &times{})
	_, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: webKey})
	require.NoError(t, err)
	require.Empty(t, r.memory.of)
}

func TestALookCopiesNothingThatTheCacheHas(t *testing.T) {
	request, recorder := reconcile.Request{NamespacedName: webKey}, events.NewFakeRecorder(10)
	objects := []client.Object{
		webService(), runningPod(1), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}},
	}
	r := &reconciler{
		client: fake.NewClientBuilder().WithObjects(objects...).
			WithInterceptorFuncs(simulation.Sharing(t)).Build(),
		events: recorder,
	}
	_, err := r.Reconcile(t.Context(), request)
	require.NoError(t, err)
	builder := fake.NewClientBuilder().WithObjects(objects...).
		WithInterceptorFuncs(simulation.Sharing(t))
	require.NoError(t, addSliceIndexes(simulation.IndexerOf(builder)))
	_, err = (&sliceReconciler{
		client: builder.Build(), events: recorder, most: 100,
	}).Reconcile(t.Context(), request)
	require.NoError(t, err)
}

// meddled is a client with which another client's write happens, and its event arrives, before the
// controller has the answer to its own.
func meddled(m *memory, objects ...client.Object) *fake.ClientBuilder {
	return fake.NewClientBuilder().WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object,
			opts ...client.CreateOption) error {
			defer func() { m.isOwnWrite(client.ObjectKeyFromObject(o), "of somebody else") }()
			return c.Create(ctx, o, opts...)
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object,
			opts ...client.UpdateOption) error {
			defer func() { m.isOwnWrite(client.ObjectKeyFromObject(o), "of somebody else") }()
			return c.Update(ctx, o, opts...)
		},
	})
}

// The controller took the event of the other write for its own, so no event leads to another
// reconcile.
func TestWhoWritesWhileTheControllerDoesIsNotOverlooked(t *testing.T) {
	for _, c := range []struct {
		name string
		pods []*corev1.Pod
		want time.Duration
	}{{"there are no Pods", nil, time.Nanosecond},
		{"there are two", podsOf(1, 2), 400 * time.Microsecond}} {
		synctest.Test(t, func(t *testing.T) {
			objects := []client.Object{
				webService(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}},
			}
			for _, pod := range c.pods {
				objects = append(objects, pod)
			}
			r := &reconciler{events: events.NewFakeRecorder(10)}
			built := meddled(&r.memory, objects...).Build()
			r.client, r.live = built, built
			request := reconcile.Request{NamespacedName: webKey}
			result, err := r.Reconcile(t.Context(), request)
			require.NoError(t, err, c.name)
			require.Equal(t, reconcile.Result{RequeueAfter: c.want}, result, c.name)

			s := &sliceReconciler{events: events.NewFakeRecorder(10), most: 100}
			builder := meddled(&s.written, objects...)
			require.NoError(t, addSliceIndexes(simulation.IndexerOf(builder)))
			built = builder.Build()
			s.client, s.live = built, built
			result, err = s.Reconcile(t.Context(), request)
			require.NoError(t, err, c.name)
			require.Equal(t, reconcile.Result{RequeueAfter: c.want}, result, c.name)
		})
	}
}
