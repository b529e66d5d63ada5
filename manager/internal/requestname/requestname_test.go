package requestname

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/manager/reconcile"
)

type inCluster struct {
	reconcile.Request
	cluster string
}

func (c inCluster) String() string { return c.cluster + "#" + c.Request.String() }

// ofCluster has the String method of the name inside, which says nothing of the cluster.
type ofCluster struct {
	reconcile.Request
	Cluster string
	number  int
}

// broken has methods that panic.
type broken struct{ *metav1.ObjectMeta }

// Without a name, the log of a controller for requests of one's own says only that one of them failed.
func TestEveryRequestHasAName(t *testing.T) {
	web := types.NamespacedName{Namespace: "shop", Name: "web"}
	named := func(namespace, name string) string { return namespace + "|" + name }
	for want, got := range map[string]string{
		"shop|web":                       named(Of(&reconcile.Request{NamespacedName: web})),
		"shop| web":                      named(Of(&types.NamespacedName{Namespace: "shop", Name: " web"})),
		"shop|a Pod":                     named(Of(new(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "a Pod"}}))),
		"|nil":                           named(Of(new((*corev1.Pod)(nil)))),
		"shop|east#shop/web":             named(Of(&inCluster{reconcile.Request{NamespacedName: web}, "east"})),
		"shop|web Cluster=west number=3": named(Of(&ofCluster{reconcile.Request{NamespacedName: web}, "west", 3})),
		"|requestname.broken":            named(Of(&broken{})),
		"|{shop/web 2}": named(Of(&struct {
			Target  reconcile.Request
			attempt int
		}{reconcile.Request{NamespacedName: web}, 2})),
		"|a bucket": named(Of(new("a bucket"))),
		"|7":        named(Of(new(7))),
	} {
		require.Equal(t, want, got)
	}
}
