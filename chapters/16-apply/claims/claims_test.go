package claims_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/util/csaupgrade"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/mini"
)

var (
	websites = mini.FieldOwner{Name: "websites"}
	ada      = mini.FieldOwner{Name: "ada"}
)

// inMemory runs a test on an API server in memory, which notes who owns which field as the real one does.
func inMemory(t *testing.T, agent string, test func(t *testing.T, client *mini.Client)) {
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(fakeapi.Options{})
		defer server.Close()
		config := server.Config()
		config.UserAgent = agent // the owner of updates
		cluster, err := mini.NewCluster(config, scheme.Scheme)
		require.NoError(t, err)
		test(t, &mini.Client{Cluster: cluster})
	})
}

func web() metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "default", Name: "web"} }

// The text says that a default has no owner: nobody gets a conflict, and no apply repairs it.
func TestADefaultBelongsToNobody(t *testing.T) {
	inMemory(t, "test", func(t *testing.T, client *mini.Client) {
		want := mini.Fields{"spec": mini.Fields{"ports": []any{mini.Fields{"port": 80}}}}
		service := &corev1.Service{ObjectMeta: web()}
		require.NoError(t, client.Apply(t.Context(), service, want, websites))
		require.Equal(t, 80, service.Spec.Ports[0].TargetPort.IntValue())
		hers := mini.Fields{"spec": mini.Fields{"ports": []any{mini.Fields{"port": 80, "targetPort": 8080}}}}
		require.NoError(t, client.Apply(t.Context(), service, hers, ada))
		require.True(t, mini.HasApplied(service, "websites", want))
		require.NoError(t, client.Apply(t.Context(), service, want, mini.FieldOwner{Name: "websites", Force: true}))
		require.Equal(t, 8080, service.Spec.Ports[0].TargetPort.IntValue())
	})
}

// deployment has this many replicas, or leaves them out.
func deployment(replicas ...int) mini.Fields {
	labels := mini.Fields{"app": "web"}
	container := mini.Fields{"name": "web", "image": "web:1", "args": []any{"-v"}}
	spec := mini.Fields{
		"selector": mini.Fields{"matchLabels": labels},
		"template": mini.Fields{
			"metadata": mini.Fields{"labels": labels}, "spec": mini.Fields{"containers": []any{container}},
		},
	}
	for _, n := range replicas {
		spec["replicas"] = n
	}
	return mini.Fields{"spec": spec}
}

// The text says how replicas are handed over to an autoscaler, and how not.
func TestReplicasThatLoseTheirOnlyOwnerGetTheDefault(t *testing.T) {
	for _, scaled := range []bool{false, true} {
		inMemory(t, "autoscaler", func(t *testing.T, client *mini.Client) {
			d := &appsv1.Deployment{ObjectMeta: web()}
			require.NoError(t, client.Apply(t.Context(), d, deployment(3), ada))
			want := 1
			if scaled {
				want = 5
				require.NoError(t, client.Patch(t.Context(), d, types.MergePatchType, []byte(`{"spec":{"replicas":5}}`)))
			}
			require.NoError(t, client.Apply(t.Context(), d, deployment(), ada))
			require.EqualValues(t, want, *d.Spec.Replicas)
		})
	}
}

// The text says that an atomic list has one owner, who replaces it whole.
func TestAListWithoutKeysIsReplacedWhole(t *testing.T) {
	inMemory(t, "test", func(t *testing.T, client *mini.Client) {
		d := &appsv1.Deployment{ObjectMeta: web()}
		require.NoError(t, client.Apply(t.Context(), d, deployment(), websites))
		more := mini.Fields{"spec": mini.Fields{"template": mini.Fields{"spec": mini.Fields{
			"containers": []any{mini.Fields{"name": "web", "args": []any{"-x"}}},
		}}}}
		var conflict *mini.ApplyConflict
		require.ErrorAs(t, client.Apply(t.Context(), d, more, ada), &conflict)
		require.Equal(t, []mini.OwnedField{{Owner: "websites", Path: `.spec.template.spec.containers[name="web"].args`}}, conflict.Fields)
		require.NoError(t, client.Apply(t.Context(), d, more, mini.FieldOwner{Name: "ada", Force: true}))
		require.Equal(t, []string{"-x"}, d.Spec.Template.Spec.Containers[0].Args)
	})
}

// The text says that what a program has patched before it applied has two owners, and how it gets one.
func TestAnUpdateOfOnesOwnPastKeepsAField(t *testing.T) {
	inMemory(t, "old", func(t *testing.T, client *mini.Client) {
		page := &corev1.ConfigMap{ObjectMeta: web(), Data: map[string]string{"index.html": "Hello!"}}
		require.NoError(t, client.Create(t.Context(), page))
		require.NoError(t, client.Patch(t.Context(), page, types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"1","b":"1"}}}`)))
		apply := func(labels mini.Fields) {
			want := mini.Fields{"metadata": mini.Fields{"labels": labels}}
			require.NoError(t, client.Apply(t.Context(), page, want, websites))
		}
		apply(mini.Fields{"a": "1", "b": "1"})
		apply(mini.Fields{"b": "1"})
		require.Contains(t, page.Labels, "a", "the owner old still has it")
		patch, err := csaupgrade.UpgradeManagedFieldsPatch(page, sets.New("old"), "websites")
		require.NoError(t, err)
		require.NoError(t, client.Patch(t.Context(), page, types.JSONPatchType, patch))
		apply(mini.Fields{"b": "1"})
		require.Equal(t, map[string]string{"b": "1"}, page.Labels)
	})
}

// The text says that two versions under one name take turns in removing what the other doesn't mention.
func TestTwoVersionsUnderOneNameRemoveEachOthersFields(t *testing.T) {
	inMemory(t, "test", func(t *testing.T, client *mini.Client) {
		page := &corev1.ConfigMap{ObjectMeta: web()}
		for range 2 {
			for _, data := range []mini.Fields{{"a": "1"}, {"b": "1"}} {
				require.NoError(t, client.Apply(t.Context(), page, mini.Fields{"data": data}, websites))
				require.Len(t, page.Data, 1)
			}
		}
	})
}
