package informer

import (
	"iter"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
)

// shops is a lister of pods in two namespaces; one pod has no labels.
func shops(t *testing.T) Lister[*corev1.Pod] {
	t.Helper()
	i := NewInformer[*corev1.Pod](nil, InformerOptions[*corev1.Pod]{})
	for _, pod := range []struct{ namespace, name, app string }{
		{"shop", "a", "web"}, {"shop", "b", "db"}, {"shop", "c", ""}, {"bank", "a", "web"}, {"bank", "d", "web"},
	} {
		object := podOn(pod.name, "")
		if object.Namespace = pod.namespace; pod.app != "" {
			object.Labels = map[string]string{"app": pod.app}
		}
		i.store.Put(object)
	}
	return i.Lister(podResource.GroupResource())
}

func keysOf(pods iter.Seq[*corev1.Pod]) (keys []string) {
	for pod := range pods {
		keys = append(keys, KeyOf(pod).String())
	}
	return keys
}

// A controller that counts too few pods creates others, and one that counts those of
// another namespace deletes them.
func TestAListerSelectsByLabelsAndNamespace(t *testing.T) {
	lister := shops(t)
	web := labels.SelectorFromSet(labels.Set{"app": "web"})
	all := []string{"shop/a", "shop/b", "shop/c", "bank/a", "bank/d"}
	require.ElementsMatch(t, all, keysOf(lister.List(nil)))
	require.ElementsMatch(t, all, keysOf(lister.List(labels.Everything())))
	require.ElementsMatch(t, []string{"shop/a", "bank/a", "bank/d"}, keysOf(lister.List(web)))
	require.Empty(t, keysOf(lister.List(labels.Nothing())))
	require.ElementsMatch(t, []string{"shop/a", "shop/b", "shop/c"}, keysOf(lister.InNamespace("shop").List(nil)))
	require.Equal(t, []string{"shop/a"}, keysOf(lister.InNamespace("shop").List(web)))
	require.Empty(t, keysOf(lister.InNamespace("nowhere").List(nil)))
}

// Who looks for one stops at the first. An iterator that goes on panics.
func TestAListMayBeLeftEarly(t *testing.T) {
	found := 0
	for range shops(t).List(labels.SelectorFromSet(labels.Set{"app": "web"})) {
		found++
		break
	}
	require.Equal(t, 1, found)
}

// A reconciler tells an object that is gone from a failure by IsNotFound.
func TestAListerSaysWhatItDoesNotFind(t *testing.T) {
	lister := shops(t)
	pod, err := lister.Get("bank", "d")
	require.NoError(t, err)
	require.Equal(t, "bank/d", KeyOf(pod).String())
	pod, err = lister.InNamespace("shop").Get("b")
	require.NoError(t, err)
	require.Equal(t, "shop/b", KeyOf(pod).String())
	pod, err = lister.InNamespace("shop").Get("d")
	require.True(t, apierrors.IsNotFound(err), "%v", err)
	require.EqualError(t, err, `pods "d" not found`)
	require.Nil(t, pod)
}
