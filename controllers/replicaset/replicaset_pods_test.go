package replicaset

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// A name that is too long is refused, each time.
func TestTheNameOfAPodIsAsTheServerWouldMakeIt(t *testing.T) {
	suffix := func(length int) string { return strings.Repeat("x", length) }
	for _, c := range []struct {
		what           string
		length         int // of the ReplicaSet's name
		base, generate int // lengths: of the name before the suffix, and of generateName
	}{
		{"a short one", 3, 4, 4},
		{"one that just fits", 57, 58, 58},
		{"one that is cut", 58, 58, 59},
		{"one that leaves room for a hyphen", 252, 58, 253},
		{"one that leaves none", 253, 58, 253},
	} {
		rs := newReplicaSet(1)
		rs.Name = strings.Repeat("w", c.length)
		pod := newPod(rs, suffix)
		require.Equal(t, c.generate, len(pod.GenerateName), c.what)
		require.Equal(t, c.generate != c.length, strings.HasSuffix(pod.GenerateName, "-"), c.what)
		require.Equal(t, pod.GenerateName[:c.base]+"xxxxx", pod.Name, c.what)
	}
}

// The template belongs to the cache.
func TestAPodSharesNothingWithTheTemplate(t *testing.T) {
	rs := newReplicaSet(1)
	rs.Spec.Template.Annotations, rs.Spec.Template.Finalizers = map[string]string{"a": "b"}, []string{"loopwright.dev/wait"}
	before := rs.DeepCopy()
	pod := newPod(rs, func(int) string { return "x" })
	require.Equal(t, before.Spec.Template.Spec, pod.Spec)
	require.Equal(t, before.Namespace, pod.Namespace)
	pod.Labels["app"], pod.Annotations["a"], pod.Finalizers[0], pod.Spec.Containers[0].Name = "x", "x", "x", "x"
	require.Equal(t, before, rs)
}

func TestCallsInParallelReturnTheFirstErrorByNumberWhenAllHaveReturned(t *testing.T) {
	two, three := errors.New("two"), errors.New("three")
	var calls atomic.Int32
	err := inParallel(4, func(i int) error {
		calls.Add(1)
		return []error{nil, nil, two, three}[i]
	})
	require.Equal(t, two, err)
	require.Equal(t, int32(4), calls.Load())
	require.NoError(t, inParallel(3, func(int) error { return nil }))
	require.NoError(t, inParallel(0, func(int) error { return two }))
}

// Kubernetes' own controller makes 25 events for an object and drops the rest. Without any bound, a ReplicaSet of a thousand
// Pods would cost the API server two thousand writes.
func TestManyPodsMakeFewEvents(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		rs := w.set(40)
		w.run()
		require.Len(t, w.events()["SuccessfulCreate"], 11, "ten, and one for all others")
		w.scale(rs, 0)
		deleted := w.events()["SuccessfulDelete"]
		require.Len(t, deleted, 11)
		require.Len(t, slices.DeleteFunc(deleted, func(note string) bool {
			return !strings.HasPrefix(note, "(combined from similar events): Deleted pod: web-")
		}), 1)
	})
}
