package manager

import (
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/manager/cache"
)

// wrapped is a cache as a user may have it: ours, with something around it that hides all but the interface.
type wrapped struct{ cache.Cache }

// A probe that fails by chance takes the Pod out of its Service.
func TestAWrappedCacheThatHasListedIsReadyEachTime(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := w.manager(Options{NewCache: func(c *rest.Config, o cache.Options) (cache.Cache, error) {
			made, err := cache.New(c, o)
			return wrapped{made}, err
		}})
		_, err := m.GetCache().GetInformer(t.Context(), &corev1.ConfigMap{}, cache.BlockUntilSynced(false))
		require.NoError(t, err)
		require.Equal(t, http.StatusInternalServerError, ask(m, "/readyz").Code, "it does not run")
		r := w.start(m)
		synctest.Wait()
		for range 100 {
			require.Equal(t, http.StatusOK, ask(m, "/readyz").Code)
		}
		require.NoError(t, r.end())
	})
}
