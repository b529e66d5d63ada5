package conversion_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/manager/webhook/conversion"
)

type nothing struct{}

func (nothing) ConvertObject(context.Context, runtime.Object, runtime.Object) error { return nil }

// Two converters for one kind would convert the same object in two ways.
func TestAKindHasOneConverter(t *testing.T) {
	var (
		converters = conversion.NewRegistry()
		job, pod   = schema.GroupKind{Group: "batch", Kind: "Job"}, schema.GroupKind{Kind: "Pod"}
	)
	require.NoError(t, converters.RegisterConverter(job, nothing{}))
	require.ErrorContains(t, converters.RegisterConverter(job, nothing{}),
		"Job.batch has a converter already")
	_, found := converters.GetConverter(job)
	require.True(t, found)
	_, found = converters.GetConverter(pod)
	require.False(t, found)
}
