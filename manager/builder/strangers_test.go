package builder_test

import (
	"testing"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/builder"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/cache/informertest"
	"github.com/loopwright/loopwright/manager/config"
	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/reconcile"
)

// bareManager is a program's stub: it has what controller-runtime's builder calls, and all other
// methods panic.
type bareManager struct {
	manager.Manager
	added []manager.Runnable
}

func (m *bareManager) Add(r manager.Runnable) error          { m.added = append(m.added, r); return nil }
func (*bareManager) GetScheme() *runtime.Scheme              { return scheme.Scheme }
func (*bareManager) GetCache() cache.Cache                   { return &informertest.FakeInformers{} }
func (*bareManager) GetRESTMapper() meta.RESTMapper          { return meta.NewDefaultRESTMapper(nil) }
func (*bareManager) GetLogger() logr.Logger                  { return logr.Discard() }
func (*bareManager) GetControllerOptions() config.Controller { return config.Controller{} }

func TestAStubOfAManagerNeedsNoMoreThanControllerRuntimeCalls(t *testing.T) {
	stub := &bareManager{}
	require.NoError(t, builder.ControllerManagedBy(stub).Named("stub").For(&corev1.ConfigMap{}).
		Owns(&corev1.Secret{}).Complete(reconcile.Func(nil)))
	_, err := controller.New("stub itself", stub, controller.Options{Reconciler: reconcile.Func(nil)})
	require.NoError(t, err)
	require.Len(t, stub.added, 2)
}
