package informer

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// The object that was changed may be replaced or deleted before the test ends; it was
// still changed.
func TestAChangeOfACachedObjectIsFoundWhenTheObjectGoes(t *testing.T) {
	var found []string
	options := InformerOptions[*corev1.ConfigMap]{DetectMutations: func(was, is *corev1.ConfigMap) {
		found = append(found, fmt.Sprintf("%s: %q is %q", was.Name, was.Data["value"], is.Data["value"]))
	}}
	inInformer(t, options, func(t *testing.T, w world, i *Informer[*corev1.ConfigMap], start, stop func()) {
		for _, name := range []string{"replaced", "deleted", "honest"} {
			w.create(t, name, nil)
		}
		start()
		require.NoError(t, i.WaitForSync(t.Context()))
		synctest.Wait()
		for _, name := range []string{"replaced", "deleted"} {
			cached, _ := i.Store().Get(keyIn(w.namespace, name))
			cached.Data = map[string]string{"value": "mine"}
		}
		w.change(t, "replaced", 1)
		w.change(t, "honest", 1)
		synctest.Wait()
		require.Equal(t, []string{`replaced: "" is "mine"`}, found)
		w.delete(t, "deleted")
		w.delete(t, "honest")
		synctest.Wait()
		require.Equal(t, []string{`replaced: "" is "mine"`, `deleted: "" is "mine"`}, found)
		stop()
		require.Len(t, found, 2, "each is reported once")
	})
}
