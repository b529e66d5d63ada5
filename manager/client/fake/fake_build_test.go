package fake_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/manager/client/fake"
)

// What several tests share is prepared once, with names that a test counts on.
func TestWhatAnObjectOfTheBuilderSaysIsNotOverwritten(t *testing.T) {
	known := configMap("a")
	known.ResourceVersion, known.UID = "12", "mine"
	fake.NewFakeClient(known)
	require.Equal(t, "12", known.ResourceVersion)
	require.EqualValues(t, "mine", known.UID)
}

// A program that writes the status of its custom resource as a part of it must not do so in its tests by mistake.
func TestTheStatusIsSeparateOnlyForTheKindsThatAreNamed(t *testing.T) {
	c := fake.NewClientBuilder().WithScheme(newScheme()).WithStatusSubresource(&Depot{}).Build()
	depot := &Depot{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	require.NoError(t, c.Create(t.Context(), depot))
	require.NoError(t, c.Status().Update(t.Context(), depot))
	require.NoError(t, c.Create(t.Context(), widget("w")))
	require.True(t, apierrors.IsNotFound(c.Status().Update(t.Context(), widget("w"))))
}
