package controllerutil_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/interceptor"
	"github.com/loopwright/loopwright/manager/controller/controllerutil"
)

// "What f does not touch is not in a patch", nor in the second of two, and "the patches are without
// a lock": what another client writes between the two neither fails the second nor is undone by it.
func TestOfTwoPatchesTheSecondHoldsNothingButTheStatus(t *testing.T) {
	inWorld(t, func(w *world) {
		w.make()
		var bodies []string
		note := func(obj client.Object, patch client.Patch) {
			data, err := patch.Data(obj)
			require.NoError(w, err)
			bodies = append(bodies, string(data))
		}
		direct, err := client.NewWithWatch(w.server.Config(), client.Options{})
		require.NoError(w, err)
		c := interceptor.NewClient(direct, interceptor.Funcs{
			Patch: func(
				ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch,
				opts ...client.PatchOption,
			) error {
				note(obj, patch)
				return c.Patch(ctx, obj, patch, opts...)
			},
			SubResourcePatch: func(
				ctx context.Context, c client.Client, name string, obj client.Object,
				patch client.Patch, opts ...client.SubResourcePatchOption,
			) error {
				note(obj, patch)
				others := w.stored()
				others.Labels = map[string]string{"by": "another"}
				require.NoError(w, w.Update(ctx, others))
				return c.SubResource(name).Patch(ctx, obj, patch, opts...)
			},
		})
		d := empty()
		result, err := controllerutil.CreateOrPatch(w.Context(), c, d, func() error {
			d.Spec.Paused, d.Status.ObservedGeneration = true, 7
			return nil
		})
		require.Equal(w, []string{`{"spec":{"paused":true},"status":{"observedGeneration":7}}`,
			`{"status":{"observedGeneration":7}}`}, bodies)
		require.NoError(w, err)
		require.Equal(w, controllerutil.OperationResultUpdatedStatus, result)
		require.Equal(w, w.stored(), d)
		require.Equal(w, "another", d.Labels["by"])
	})
}

// "An f that replaces the whole object takes its resourceVersion away": one that keeps it doesn't.
func TestAFunctionThatReplacesTheWholeObjectOverwritesOthersUnlessItKeepsTheVersion(t *testing.T) {
	for _, keeps := range []bool{false, true} {
		inWorld(t, func(w *world) {
			w.make()
			d := empty()
			_, err := controllerutil.CreateOrUpdate(w.Context(), w, d, func() error {
				users, version := w.stored(), d.ResourceVersion
				users.Spec.Paused = true
				require.NoError(w, w.Update(w.Context(), users))
				*d = *newDeployment()
				d.Labels = map[string]string{"mine": "true"}
				if keeps {
					d.ResourceVersion = version
				}
				return nil
			})
			require.Equal(w, keeps, apierrors.IsConflict(err), "%v", err)
			require.Equal(w, keeps, w.stored().Spec.Paused)
		})
	}
}
