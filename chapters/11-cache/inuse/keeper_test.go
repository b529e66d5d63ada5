package main

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/internal/demo/inuse"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/fake"
)

// The chapter's text shows this test.
func TestTheReconcilerWritesAndNoticesThatItWasLate(t *testing.T) {
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "hello"}, Data: map[string]string{"a": "1"}}
	c := fake.NewClientBuilder().WithObjects(object).Build()
	cached := object.DeepCopy() // what a cache would have that is behind

	_, err := keeper{c}.Reconcile(t.Context(), object)
	require.NoError(t, err)
	written := &corev1.ConfigMap{}
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(object), written))
	require.True(t, inuse.HasChecksum(written))

	_, err = keeper{c}.Reconcile(t.Context(), cached)
	require.True(t, apierrors.IsConflict(err), "%v", err)
}
