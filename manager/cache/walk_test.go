package cache

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/manager/client"
)

// A mistake in the options must be seen when the cache is made.
func TestACacheWithSettingsThatCannotBeIsNotMade(t *testing.T) {
	_, err := New(&rest.Config{Host: "http://server.example"}, Options{Scheme: scheme.Scheme, Mapper: podsAndNodes(),
		ByObject: map[client.Object]ByObject{&corev1.Node{}: {Namespaces: map[string]Config{"shop": {}}}}})
	require.ErrorContains(t, err, "Node")
}
