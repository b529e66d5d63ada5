package replicaset

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/manager/client/interceptor"
	"github.com/loopwright/loopwright/manager/recorder/events"
)

// The API server refuses a name that is too long, at each try.
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
		{"the longest that there is", 253, 58, 254},
	} {
		rs := newReplicaSet(1)
		rs.Name = strings.Repeat("w", c.length)
		pod := newPod(rs, suffix)
		require.Equal(t, c.generate, len(pod.GenerateName), c.what)
		require.True(t, strings.HasSuffix(pod.GenerateName, "-"), c.what)
		require.Equal(t, pod.GenerateName[:c.base]+"xxxxx", pod.Name, c.what)
	}
}

// The template belongs to the cache.
func TestAPodSharesNothingWithTheTemplate(t *testing.T) {
	rs := newReplicaSet(1)
	rs.Spec.Template.Annotations, rs.Spec.Template.Finalizers = map[string]string{"a": "b"},
		[]string{"loopwright.dev/wait"}
	before := rs.DeepCopy()
	pod := newPod(rs, func(int) string { return "x" })
	require.Equal(t, before.Spec.Template.Spec, pod.Spec)
	require.Equal(t, before.Namespace, pod.Namespace)
	pod.Labels["app"], pod.Annotations["a"], pod.Finalizers[0], pod.Spec.Containers[0].Name = "x",
		"x", "x", "x"
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

// Kubernetes' own controller makes 25 events for an object and drops the rest. Without any bound, a
// ReplicaSet of a thousand Pods would cost the API server two thousand writes.
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

// A write that is remembered as unconfirmed without need costs a request; one that is forgotten
// leads to a Pod too many. And a warning without need makes a user look for a fault.
func TestWhatFollowsFromTheAnswerToACreation(t *testing.T) {
	pods := corev1.Resource("pods")
	ending := apierrors.NewForbidden(pods, "a", errors.New("it is being deleted"))
	ending.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	for _, c := range []struct {
		answer, want    error
		mayHaveHappened bool
		note            string
	}{
		{nil, nil, false, "Normal SuccessfulCreate Created pod: web-00001"},
		{apierrors.NewAlreadyExists(pods, "web-00001"), nil, true, ""},
		{ending, errNamespaceEnds, false, ""},
		{
			apierrors.NewForbidden(pods, "a", errors.New("quota")), errNotNil, false,
			`Warning FailedCreate Error creating: pods "a" is forbidden: quota`,
		},
		{errors.New("EOF"), errNotNil, true, "Warning FailedCreate Error creating: EOF"},
	} {
		r := in(interceptor.Funcs{Create: creating(c.answer)})
		err := r.createPod(t.Context(), newReplicaSet(1))
		if c.want == errNotNil {
			require.ErrorIs(t, err, c.answer)
			require.ErrorContains(t, err, "creating a Pod: ")
		} else {
			require.Equal(t, c.want, err)
		}
		created, _ := r.unconfirmed.open(webSet)
		require.Equal(t, c.mayHaveHappened, len(created) == 1, "%v", c.answer)
		notes := r.events.(*events.FakeRecorder).Events
		close(notes)
		require.Equal(t, c.note, <-notes, "%v", c.answer)
	}
}

// errNotNil stands for the answer itself, wrapped.
var errNotNil = errors.New("the answer")
