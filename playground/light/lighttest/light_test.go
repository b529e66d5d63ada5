package lighttest

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"

	lightkubernetes "github.com/loopwright/loopwright/playground/light/kubernetes"
	lightscheme "github.com/loopwright/loopwright/playground/light/scheme"
)

// Code that uses the light clientset compiles with the original, too.
var _ lightkubernetes.Interface = kubernetes.Interface(nil)

// A kind that decodes to another type in a page would be another program.
func TestTheLightSchemeHasTheTypesOfTheOriginal(t *testing.T) {
	light := lightscheme.Scheme.AllKnownTypes()
	require.Greater(t, len(light), 100)
	for kind, is := range light {
		require.Equal(t, scheme.Scheme.AllKnownTypes()[kind], is, "%v", kind)
		require.NotEqual(t, reflect.TypeFor[any](), is)
	}
	require.Less(t, len(light), len(scheme.Scheme.AllKnownTypes()), "it has fewer, or why is it there?")
}
