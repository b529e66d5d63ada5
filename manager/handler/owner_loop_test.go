package handler

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A loop over the owners may end before the last of them. Go panics if it's given one more.
func TestTheOwnersEndWithTheLoop(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web"},
		{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "api"},
	}}}
	calls := 0
	for range ownersOf(pod, appsv1.SchemeGroupVersion.WithKind("ReplicaSet").GroupKind(), false) {
		calls++
		break
	}
	require.Equal(t, 1, calls)
}
