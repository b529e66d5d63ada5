package manager

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/internal/logtest"
	"github.com/loopwright/loopwright/manager/predicate"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/manager/source"
)

// People search the log that they have set up, in the place to which it goes and in its format. What one package wrote
// elsewhere, they would not find.
func TestAllThatGoesWrongIsInTheLogOfTheProgram(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		lines := logtest.Read(t)
		var elsewhere bytes.Buffer
		defer slog.SetDefault(slog.Default())
		slog.SetDefault(slog.New(slog.NewTextHandler(&elsewhere, nil)))

		options := Options{Cache: cache.Options{DefaultTransform: func(any) (any, error) { return nil, errors.New("a broken transform") }}}
		options.Metrics.BindAddress = "0"
		m, err := New(w.server.Config(), options)
		require.NoError(t, err)
		broken := reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
			return reconcile.Result{}, reconcile.TerminalError(errors.New("a broken reconciler"))
		})
		c, err := controller.New("broken", m, controller.Options{Reconciler: broken, SkipNameValidation: new(true)})
		require.NoError(t, err)
		require.NoError(t, c.Watch(source.Kind(m.GetCache(), client.Object(&corev1.ConfigMap{}), &handler.EnqueueRequestForObject{})))
		w.configMap("one")
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "secrets"}, Status: fakeapi.Forbidden()})
		r := w.start(m.(*controllerManager))

		predicate.GenerationChangedPredicate{}.Update(event.UpdateEvent{})
		(&handler.EnqueueRequestForObject{}).Create(t.Context(), event.CreateEvent{}, nil)
		outside, err := client.New(w.server.Config(), client.Options{})
		require.NoError(t, err)
		//lint:ignore SA1019 it is deprecated, and so the server warns
		require.NoError(t, outside.Create(t.Context(), &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "old"}}))
		_, err = m.GetCache().GetInformer(t.Context(), &corev1.Secret{}, cache.BlockUntilSynced(false))
		require.NoError(t, err)
		time.Sleep(time.Second)
		synctest.Wait()
		for _, told := range []string{
			"a broken transform", "a broken reconciler", "Endpoints is deprecated", "An informer cannot read",
			"An update event without the old object is dropped", "An event without an object is dropped",
		} {
			require.Contains(t, lines.String(), told)
		}
		require.Empty(t, elsewhere.String())
		require.NoError(t, r.end())
	})
}
