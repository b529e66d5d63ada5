package fake_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/fake"
)

type notApplicable struct{}

func (notApplicable) IsApplyConfiguration() {}

// A kind that nobody has named must not be served: a mapper that lists all kinds would list it.
func TestWhatHasNoKindIsNotServed(t *testing.T) {
	c := fake.NewFakeClient()
	require.True(t, runtime.IsNotRegisteredError(c.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "a"}, widget("a"))))
	require.ErrorContains(t, c.Apply(t.Context(), notApplicable{}), "cannot be applied")
	require.ErrorContains(t, c.Apply(t.Context(), applycorev1.ConfigMap("a", "shop").WithAPIVersion("a/b/c")), "a/b/c")
	require.Equal(t, "the kinds of a fake client, 0 met", fmt.Sprint(c.RESTMapper()))
}

func TestAWatchOfATypeThatTheSchemeLacksIsAnError(t *testing.T) {
	_, err := fake.NewFakeClient().Watch(t.Context(), &WidgetList{})
	require.True(t, runtime.IsNotRegisteredError(err), "%v", err)
}

func TestAWatchThatIsStoppedEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, err := fake.NewFakeClient().Watch(t.Context(), podMaps())
		require.NoError(t, err)
		began := time.Now()
		w.Stop()
		for range w.ResultChan() { // what was on its way; it ends when the channel is closed
		}
		require.Zero(t, time.Since(began), "the server ends it, too, but much later")
		w.Stop()
	})
}

// Custom resources are applied with configurations that a generator has made, too.
func TestATypedConfigurationIsAppliedInItsNamespace(t *testing.T) {
	c := fake.NewClientBuilder().WithScheme(newScheme()).Build()
	config := applycorev1.ConfigMap("a", "shop").WithKind("Widget").WithAPIVersion(shop.String())
	require.NoError(t, c.Apply(t.Context(), config, client.FieldOwner("me")))
	read(t, c, widget("a"))
}

// The mapper says what is known so far, whichever call has been the first.
func TestAPatchOfAStatusSaysWhereTheKindIs(t *testing.T) {
	c, depot := fake.NewClientBuilder().WithScheme(newScheme()).Build(), &Depot{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	require.Error(t, c.Status().Patch(t.Context(), depot, client.RawPatch(types.MergePatchType, []byte("{}"))))
	namespaced, err := c.IsObjectNamespaced(depot)
	require.NoError(t, err)
	require.False(t, namespaced)
}
