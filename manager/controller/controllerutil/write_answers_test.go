package controllerutil_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/controller/controllerutil"
)

// The object was made, and the answer got lost. The next call finds it as it should be.
func TestAnObjectWhoseCreateLostItsAnswerIsFoundAndNotMadeTwice(t *testing.T) {
	inWorld(t, func(w *world) {
		owner := w.make()
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "create", Resource: "services"},
			LoseResponse: true, Times: 1})
		_, _, err := w.serve(owner)
		require.Error(t, err)
		_, result, err := w.serve(owner)
		require.NoError(t, err)
		require.Equal(t, controllerutil.OperationResultNone, result)
	})
}

// A proxy doesn't find an object that's there. The API server refuses the second one, and what the
// first one has stays.
func TestAnObjectThatAProxyDoesNotFindIsNotOverwritten(t *testing.T) {
	inWorld(t, func(w *world) {
		owner := w.make()
		made, _, err := w.serve(owner)
		require.NoError(t, err)
		missing := apierrors.NewGenericServerResponse(404, "get", schema.GroupResource{}, "web",
			"404 page not found", 0, true).ErrStatus
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "get", Resource: "services"},
			Status: &missing, Times: 1})
		_, result, err := w.serve(owner)
		require.True(t, apierrors.IsAlreadyExists(err), "%v", err)
		require.Equal(t, controllerutil.OperationResultNone, result)
		same, result, err := w.serve(owner)
		require.NoError(t, err)
		require.Equal(t, controllerutil.OperationResultNone, result)
		require.Equal(t, made.ResourceVersion, same.ResourceVersion)
	})
}
