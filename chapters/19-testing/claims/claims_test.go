package claims_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ctrl "github.com/loopwright/loopwright"
	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/fake"
	"github.com/loopwright/loopwright/manager/client/interceptor"
	"github.com/loopwright/loopwright/manager/metrics/server"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/mini"
)

func hello() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "hello"}}
}

// The text shows this interceptor.
func TestAnInterceptorCanLoseAnAnswer(t *testing.T) {
	fakeClient := fake.NewClientBuilder().WithObjects(hello()).Build()
	c := interceptor.NewClient(fakeClient, interceptor.Funcs{
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			_ = c.Update(ctx, o.DeepCopyObject().(client.Object), opts...)
			return errors.New("the answer got lost")
		},
	})
	object := hello()
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(object), object))
	version := object.ResourceVersion
	object.Data = map[string]string{"a": "1"}
	require.Error(t, c.Update(t.Context(), object))
	require.Equal(t, version, object.ResourceVersion, "the client knows what the answer would have told it")
	stored := hello()
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(stored), stored))
	require.Equal(t, object.Data, stored.Data)
	require.True(t, apierrors.IsConflict(fakeClient.Update(t.Context(), object)), "the object is old now")
}

// The text says that a fake client's reads show each write at once, and that conflicts are those of a server.
func TestAFakeClientHasVersionsAndIsNeverLate(t *testing.T) {
	c := fake.NewClientBuilder().WithObjects(hello()).Build()
	first, second := hello(), hello()
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(first), first))
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(second), second))
	first.Data = map[string]string{"a": "1"}
	require.NoError(t, c.Update(t.Context(), first))
	require.True(t, apierrors.IsConflict(c.Update(t.Context(), second)))
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(second), second))
	require.Equal(t, first.Data, second.Data)
}

// copies keeps a copy of each ConfigMap whose name doesn't end in -copy.
type copies struct{ client.Client }

func (c copies) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var original corev1.ConfigMap
	if err := c.Get(ctx, req.NamespacedName, &original); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if original.Labels["copy"] != "" {
		return ctrl.Result{}, nil
	}
	copied := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: req.Namespace, Name: req.Name + "-copy", Labels: map[string]string{"copy": "yes"},
	}, Data: original.Data}
	if err := c.Create(ctx, copied); !apierrors.IsAlreadyExists(err) {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, c.Update(ctx, copied)
}

// The text says that days of an operator on the library can be played with mini's faults.
func TestAnOperatorOnTheLibraryHasBadDaysToo(t *testing.T) {
	ctrl.SetLogger(logr.Discard())
	met := 0
	require.Nil(t, mini.Play(10, func(faults *mini.Faults) (end string) {
		synctest.Test(t, func(t *testing.T) {
			api := fakeapi.New(fakeapi.Options{WatchTimeout: 1000 * time.Hour})
			defer api.Close()
			users, err := client.New(api.Config(), client.Options{})
			require.NoError(t, err)
			config := api.Config()
			config.Wrap(faults.Wrap)
			mgr, err := ctrl.NewManager(config, ctrl.Options{Metrics: server.Options{BindAddress: "0"}})
			require.NoError(t, err)
			require.NoError(t, ctrl.NewControllerManagedBy(mgr).For(&corev1.ConfigMap{}).
				Complete(reconcile.Reconciler(copies{mgr.GetClient()})))
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- mgr.Start(ctx) }()
			object := hello()
			object.Data = map[string]string{"a": "1"}
			require.NoError(t, users.Create(ctx, object))
			time.Sleep(time.Hour)
			object.Data["a"] = "2"
			require.NoError(t, users.Update(ctx, object))
			time.Sleep(time.Hour)
			var all corev1.ConfigMapList
			require.NoError(t, users.List(ctx, &all))
			for _, o := range all.Items {
				end += fmt.Sprintln(o.Name, o.Data)
			}
			stop()
			require.NoError(t, <-ended)
		})
		met += len(faults.Story())
		return end
	}))
	require.Positive(t, met, "nothing has gone wrong")
}
