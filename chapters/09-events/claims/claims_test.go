package claims_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/loopwright/loopwright/cluster/clustertest"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/predicate"
)

func TestMain(m *testing.M) { os.Exit(clustertest.Run(m)) }

// The columns of the chapter's table.
var columns = []predicate.Predicate{
	predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{}, predicate.AnnotationChangedPredicate{},
	predicate.ResourceVersionChangedPredicate{},
}

// write is a row: what somebody does to an object.
type write struct {
	resource, patch string
	subresource     []string
}

var writes = map[string]write{
	"a Deployment's spec":                               {"deployments", `{"spec":{"replicas":7}}`, nil},
	"its status":                                        {"deployments", `{"status":{"observedGeneration":1}}`, []string{"status"}},
	"a label":                                           {"deployments", `{"metadata":{"labels":{"new":"yes"}}}`, nil},
	"an annotation of a Deployment":                     {"deployments", `{"metadata":{"annotations":{"new":"yes"}}}`, nil},
	"an annotation of a Pod":                            {"pods", `{"metadata":{"annotations":{"new":"yes"}}}`, nil},
	"a finalizer, or an owner":                          {"deployments", `{"metadata":{"finalizers":["loopwright.dev/test"]}}`, nil},
	"a Pod's status, for example its readiness":         {"pods", `{"status":{"conditions":[{"type":"Ready","status":"True"}]}}`, []string{"status"}},
	"the data of a ConfigMap or Secret":                 {"configmaps", `{"data":{"new":"yes"}}`, nil},
	"nothing: the update comes from a resync":           {"configmaps", ``, nil},
	"a deletion that a finalizer blocks":                {"deployments", `delete`, nil},
	"a deletion of a ConfigMap that a finalizer blocks": {"configmaps", `delete`, nil},
	"a finalizer is removed, and another is left":       {"deployments", `{"metadata":{"finalizers":["loopwright.dev/kept"]}}`, nil},
}

// A reader chooses predicates by this table. So it is read here, and a real API server does what each
// row says.
func TestPredicatesDoWhatTheTableOfTheTextSays(t *testing.T) {
	text, err := os.ReadFile("../library.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(text), "| what changed | Generation | Label | Annotation | ResourceVersion |\n|---|---|---|---|---|\n")
	require.True(t, found, "the table is not where it was, or has other columns")
	table, _, _ = strings.Cut(table, "\n\n")
	clients := clustertest.Client(t)
	namespace := clustertest.Namespace(t)
	rows := 0
	for row := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(row), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		require.Len(t, cells, 1+len(columns), "%s", row)
		w, known := writes[cells[0]]
		require.True(t, known, "the table has a row that this test does not know: %s", cells[0])
		e := w.do(t, clients, namespace)
		for i, p := range columns {
			verdict := map[bool]string{true: "passes", false: ""}[p.Update(e)]
			require.Equal(t, cells[i+1], verdict, "%T, after a change of %s", p, cells[0])
		}
		rows++
	}
	require.Len(t, writes, rows, "the table does not have every row")
}

// do makes an object, changes it, and returns the event.
func (w write) do(t *testing.T, clients kubernetes.Interface, namespace string) (e event.UpdateEvent) {
	t.Helper()
	ctx := t.Context()
	about := metav1.ObjectMeta{GenerateName: "row-", Finalizers: []string{"loopwright.dev/kept", "loopwright.dev/other"}}
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "row"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "row", Image: "none"}}, SchedulingGates: []corev1.PodSchedulingGate{{Name: "loopwright.dev/never"}}},
	}
	switch w.resource {
	case "deployments":
		api := clients.AppsV1().Deployments(namespace)
		made, err := api.Create(ctx, &appsv1.Deployment{ObjectMeta: about, Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: template.Labels}, Template: template}}, metav1.CreateOptions{})
		require.NoError(t, err)
		return change(t, w, made, api.Patch, api.Delete, api.Get)
	case "pods":
		api := clients.CoreV1().Pods(namespace)
		made, err := api.Create(ctx, &corev1.Pod{ObjectMeta: about, Spec: template.Spec}, metav1.CreateOptions{})
		require.NoError(t, err)
		return change(t, w, made, api.Patch, api.Delete, api.Get)
	default:
		api := clients.CoreV1().ConfigMaps(namespace)
		made, err := api.Create(ctx, &corev1.ConfigMap{ObjectMeta: about}, metav1.CreateOptions{})
		require.NoError(t, err)
		return change(t, w, made, api.Patch, api.Delete, api.Get)
	}
}

func change[T client.Object](t *testing.T, w write, was T,
	patch func(context.Context, string, types.PatchType, []byte, metav1.PatchOptions, ...string) (T, error),
	remove func(context.Context, string, metav1.DeleteOptions) error,
	get func(context.Context, string, metav1.GetOptions) (T, error),
) event.UpdateEvent {
	t.Helper()
	var is T
	var err error
	switch w.patch {
	case "":
		is = was
	case "delete":
		require.NoError(t, remove(t.Context(), was.GetName(), metav1.DeleteOptions{}))
		is, err = get(t.Context(), was.GetName(), metav1.GetOptions{})
		require.NotNil(t, is.GetDeletionTimestamp())
	default:
		is, err = patch(t.Context(), was.GetName(), types.MergePatchType, []byte(w.patch), metav1.PatchOptions{}, w.subresource...)
	}
	require.NoError(t, err)
	_, err = patch(t.Context(), was.GetName(), types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	return event.UpdateEvent{ObjectOld: was, ObjectNew: is}
}
