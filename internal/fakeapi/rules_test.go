package fakeapi

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

var noon = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

func resourceOf(t *testing.T, kind string) *resource {
	t.Helper()
	for _, b := range builtins() {
		if b.Kind.Kind == kind {
			res, err := newResource(b.Kind, b.rules)
			require.NoError(t, err)
			return res
		}
	}
	t.Fatalf("no kind %s", kind)
	return nil
}

func seconds64(n int64) *int64 { return &n }

func TestOnlyARunningPodWaitsForItsKubelet(t *testing.T) {
	res := resourceOf(t, "Pod")
	pod := func(node string, phase corev1.PodPhase, finalizers ...string) *corev1.Pod {
		p := res.new().(*corev1.Pod)
		p.Name, p.Finalizers, p.Generation = "p", finalizers, 1
		p.Spec.NodeName, p.Status.Phase = node, phase
		p.Spec.TerminationGracePeriodSeconds = seconds64(30)
		return p
	}
	cases := map[string]struct {
		pod   *corev1.Pod
		asked *int64
		gone  bool
		grace int64
	}{
		"no node":                  {pod("", corev1.PodPending), nil, true, 0},
		"on a node":                {pod("n", corev1.PodRunning), nil, false, 30},
		"on a node, asked for 5 s": {pod("n", corev1.PodRunning), seconds64(5), false, 5},
		"on a node, asked for 0 s": {pod("n", corev1.PodRunning), seconds64(0), true, 0},
		"a negative period is 1 s": {pod("n", corev1.PodRunning), seconds64(-7), false, 1},
		"finished":                 {pod("n", corev1.PodSucceeded), nil, true, 0},
		"finished, with finalizer": {pod("n", corev1.PodFailed, "example.com/f"), nil, false, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			d, err := prepareDelete(res, c.pod, &metav1.DeleteOptions{GracePeriodSeconds: c.asked}, noon)
			require.NoError(t, err)
			require.Equal(t, c.gone, d.gone)
			m := metaOf(d.marked)
			require.Equal(t, c.grace, *m.GetDeletionGracePeriodSeconds())
			require.True(t, noon.Add(time.Duration(c.grace)*time.Second).Equal(m.GetDeletionTimestamp().Time))
			require.EqualValues(t, 2, m.GetGeneration(), "a deletion is something to act on")
			require.Nil(t, c.pod.DeletionTimestamp, "the stored object is shared and must not be touched")
		})
	}
}

func TestADeletionUnderWayIsOnlyEverShortened(t *testing.T) {
	res := resourceOf(t, "Pod")
	pod := res.new().(*corev1.Pod)
	pod.Name, pod.Spec.NodeName = "p", "n"
	d, err := prepareDelete(res, pod, &metav1.DeleteOptions{GracePeriodSeconds: seconds64(30)}, noon)
	require.NoError(t, err)
	later := noon.Add(10 * time.Second)
	same, err := prepareDelete(res, d.marked, &metav1.DeleteOptions{GracePeriodSeconds: seconds64(60)}, later)
	require.NoError(t, err)
	require.Equal(t, deletion{}, same, "a longer period changes nothing")
	shorter, err := prepareDelete(res, d.marked, &metav1.DeleteOptions{GracePeriodSeconds: seconds64(15)}, later)
	require.NoError(t, err)
	require.True(t, noon.Add(15*time.Second).Equal(metaOf(shorter.marked).GetDeletionTimestamp().Time), "counted from the first request")
	late, err := prepareDelete(res, d.marked, &metav1.DeleteOptions{GracePeriodSeconds: seconds64(5)}, later)
	require.NoError(t, err)
	require.EqualValues(t, 1, *metaOf(late.marked).GetDeletionGracePeriodSeconds(), "the time is over, but the owner still has the last word")
	now, err := prepareDelete(res, d.marked, &metav1.DeleteOptions{GracePeriodSeconds: seconds64(0)}, later)
	require.NoError(t, err)
	require.True(t, now.gone)
}

func TestTheCollectorsFinalizersFollowTheRequestThenTheObjectThenTheKind(t *testing.T) {
	const orphan, foreground = metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents
	policy := func(p metav1.DeletionPropagation) *metav1.DeleteOptions {
		return &metav1.DeleteOptions{PropagationPolicy: &p}
	}
	pod, job, event := resourceOf(t, "Pod"), resourceOf(t, "Job"), resourceOf(t, "Event")
	none := &metav1.DeleteOptions{}
	require.Empty(t, collectorFinalizers(pod, nil, none))
	require.Equal(t, []string{"a/b", orphan}, collectorFinalizers(pod, []string{"a/b"}, policy(metav1.DeletePropagationOrphan)))
	require.Equal(t, []string{foreground}, collectorFinalizers(pod, []string{orphan}, policy(metav1.DeletePropagationForeground)))
	require.Empty(t, collectorFinalizers(pod, []string{orphan}, policy(metav1.DeletePropagationBackground)))
	require.Equal(t, []string{foreground}, collectorFinalizers(pod, []string{foreground}, none))
	require.Equal(t, []string{orphan}, collectorFinalizers(job, nil, none), "jobs leave their pods alone by default")
	require.Empty(t, collectorFinalizers(event, nil, policy(metav1.DeletePropagationForeground)))
}

func TestTheGenerationCountsWhatSomebodyMustActOn(t *testing.T) {
	widget, err := newResource(Kind{Group: "example.com", Version: "v1", Kind: "Widget", Status: true}, rules{})
	require.NoError(t, err)
	plain, err := newResource(Kind{Group: "example.com", Version: "v1", Kind: "Gadget"}, rules{})
	require.NoError(t, err)
	object := func(section string, value int64) *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "w", "namespace": "n", "resourceVersion": "5", "generation": int64(1)}}}
		u.Object[section] = value
		return u
	}
	cases := []struct {
		res     *resource
		section string
		want    int64
	}{
		{widget, "spec", 2}, {widget, "data", 2}, {widget, "status", 1},
		{plain, "spec", 2}, {plain, "status", 2},
	}
	for _, c := range cases {
		next, old := object(c.section, 2), object(c.section, 1)
		require.NoError(t, prepareUpdate(c.res, "", next, old))
		require.Equal(t, c.want, next.GetGeneration(), "%s.%s", c.res.Kind.Kind, c.section)
	}
}

func TestAnObjectWithTheSameContentIsTheSameWhateverTheTimesInItsManagedFields(t *testing.T) {
	at := func(sec int) *corev1.ConfigMap {
		stamp := metav1.NewTime(noon.Add(time.Duration(sec) * time.Second))
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m", Time: &stamp}}}}
	}
	require.True(t, sameObject(at(0), at(1)))
	other := at(0)
	other.ManagedFields[0].Manager = "n"
	require.False(t, sameObject(at(0), other))
	other = at(0)
	other.Data = map[string]string{"k": "v"}
	require.False(t, sameObject(at(0), other))
}

func TestPathsAreReadAsTheRealServerReadsThem(t *testing.T) {
	for path, want := range map[string]string{
		"GET /api/v1/pods":                                  "list pods",
		"GET /api/v1/namespaces/n/pods?watch=true":          "watch pods in n",
		"GET /api/v1/namespaces/n/pods/p":                   "get pods n/p",
		"GET /api/v1/namespaces/n/pods/p?watch=1":           "get pods n/p",
		"PUT /api/v1/namespaces/n/pods/p/status":            "update pods/status n/p",
		"GET /api/v1/namespaces/n":                          "get namespaces n",
		"PUT /api/v1/namespaces/n/finalize":                 "update namespaces/finalize n",
		"DELETE /apis/apps/v1/namespaces/n/deployments":     "deletecollection deployments in n",
		"PATCH /apis/apps/v1/namespaces/n/deployments/d":    "patch deployments n/d",
		"POST /apis/rbac.authorization.k8s.io/v1/roles":     "create roles",
		"GET /apis/apps/v1":                                 "get /apis/apps/v1",
		"GET /healthz":                                      "get /healthz",
		"GET /api/v1/namespaces/n/pods?watch=0":             "list pods in n",
		"GET /api/v1/nodes/n/status":                        "get nodes/status n",
		"GET /api/v1/namespaces/status/configmaps/finalize": "get configmaps status/finalize",
	} {
		require.Equal(t, want, Parse(requestFor(path)).String(), path)
	}
}
