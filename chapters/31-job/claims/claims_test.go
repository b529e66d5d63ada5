package claims_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/loopwright/loopwright/cluster/clustertest"
	"github.com/loopwright/loopwright/mini"
)

// The cluster's own Job controller would run what mini doesn't.
func TestMain(m *testing.M) {
	_ = os.Setenv("ORIGINALS", "-job-controller")
	os.Exit(clustertest.Run(m))
}

// startJobs runs mini's Job controllers until the test has ended.
func startJobs(t *testing.T) {
	t.Helper()
	cluster, err := mini.NewCluster(clustertest.Config(t), scheme.Scheme)
	require.NoError(t, err)
	m := mini.NewManager(cluster)
	controllers, err := mini.NewJobController(m)
	require.NoError(t, err)
	for _, c := range controllers {
		m.AddController(c)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	t.Cleanup(func() { stop(); assert.NoError(t, <-ended) })
}

// The text says that the Job's status tells its user what mini can't run. The API server has rules
// about a Job's conditions: it must not refuse this one, neither at first, nor when a change of the
// Job takes it back, nor in the status of the Job when it is complete.
func TestARealAPIServerTakesTheConditionOfAJobThatMiniCannotRun(t *testing.T) {
	namespace := clustertest.Namespace(t)
	jobs := clustertest.Client(t).BatchV1().Jobs(namespace)
	startJobs(t)
	create := func(name string, change func(*batchv1.JobSpec)) {
		job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name}}
		job.Spec.Template.Spec = corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers:    []corev1.Container{{Name: "c", Image: "registry.invalid/c"}},
			NodeSelector:  map[string]string{"example.com/node": "none"}, // the test is its kubelet
		}
		change(&job.Spec)
		_, err := jobs.Create(t.Context(), job, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	eventually := func(name string, check func(*assert.CollectT, *batchv1.Job)) {
		t.Helper()
		require.EventuallyWithT(t, func(collect *assert.CollectT) {
			job, err := jobs.Get(t.Context(), name, metav1.GetOptions{})
			require.NoError(collect, err)
			check(collect, job)
		}, 3*time.Minute, 100*time.Millisecond)
	}
	says := func(status corev1.ConditionStatus, reason string) func(*assert.CollectT, *batchv1.Job) {
		return func(collect *assert.CollectT, job *batchv1.Job) {
			require.Len(collect, job.Status.Conditions, 1, "the controller hasn't written its condition")
			condition := job.Status.Conditions[0]
			require.EqualValues(collect, "loopwright.dev/Unsupported", condition.Type)
			require.Equal(collect, status, condition.Status)
			require.Equal(collect, reason, condition.Reason)
		}
	}
	create("numbered", func(s *batchv1.JobSpec) {
		s.CompletionMode, s.Completions = new(batchv1.IndexedCompletion), new(int32(2))
	})
	eventually("numbered", says(corev1.ConditionTrue, "IndexedCompletion"))
	create("patient", func(s *batchv1.JobSpec) { s.PodReplacementPolicy = new(batchv1.Failed) })
	eventually("patient", says(corev1.ConditionTrue, "PodReplacementPolicy"))

	_, err := jobs.Patch(t.Context(), "patient", types.MergePatchType,
		[]byte(`{"spec": {"podReplacementPolicy": "TerminatingOrFailed"}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	eventually("patient", func(collect *assert.CollectT, job *batchv1.Job) {
		says(corev1.ConditionFalse, "Supported")(collect, job)
		require.EqualValues(collect, 1, job.Status.Active, "mini can run it now")
	})
	succeed(t, namespace, "patient")
	eventually("patient", func(collect *assert.CollectT, job *batchv1.Job) {
		require.NotNil(collect, job.Status.CompletionTime)
		require.Len(collect, job.Status.Conditions, 3, "SuccessCriteriaMet and Complete, and ours")
	})
}

// succeed makes the Pods of a Job end well, as their kubelet would report it.
func succeed(t *testing.T, namespace, job string) {
	t.Helper()
	pods := clustertest.Client(t).CoreV1().Pods(namespace)
	all, err := pods.List(t.Context(), metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=" + job})
	require.NoError(t, err)
	require.Len(t, all.Items, 1)
	for _, pod := range all.Items {
		_, err := pods.Patch(t.Context(), pod.Name, types.MergePatchType,
			[]byte(`{"status": {"phase": "Succeeded"}}`), metav1.PatchOptions{}, "status")
		require.NoError(t, err)
	}
}
