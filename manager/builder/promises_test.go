package builder_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/manager/builder"
	"github.com/loopwright/loopwright/manager/config"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/predicate"
	"github.com/loopwright/loopwright/manager/source"
)

// "Complete and Build return an error if it is wrong; nothing is added to the manager then." A nil
// that's only noticed when the manager starts stops all its other controllers as well, or crashes
// the process.
func TestANilInADescriptionIsAnErrorOfCompleteAndTheNameStaysFree(t *testing.T) {
	inWorld(t, config.Controller{}, func(t *testing.T, w *world) {
		made := func() *builder.Builder {
			return builder.ControllerManagedBy(w).Named("nils").For(&corev1.Pod{})
		}
		var none *handler.EnqueueRequestForObject
		var noInformer *source.Informer
		for want, wrong := range map[string]*builder.Builder{
			"For: one of its predicates is nil": builder.ControllerManagedBy(w).Named("nils").
				For(&corev1.Pod{}, builder.WithPredicates(nil)),
			"Owns: one of its predicates is nil": made().
				Owns(&corev1.ConfigMap{}, builder.WithPredicates(predicate.Funcs{}, nil)),
			"Watches: it was given a nil handler (<nil>)": made().Watches(&corev1.ConfigMap{}, nil),
			"Watches: it was given a nil handler (*handler.EnqueueRequestForObject)": made().
				Watches(&corev1.ConfigMap{}, none),
			"WithEventFilter was given a nil predicate":       made().WithEventFilter(nil),
			"WatchesRawSource was given a nil source (<nil>)": made().WatchesRawSource(nil),
			"WatchesRawSource was given a nil source (*source.Informer)": made().
				WatchesRawSource(noInformer),
		} {
			require.ErrorContains(t, wrong.Complete(w.asks()), want)
		}
		require.NoError(t, made().Complete(w.asks()), "the name is free")
		w.run(func() {}) // and is so again
	})
}
