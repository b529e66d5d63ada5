package config_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/cluster/clustertest"
	"github.com/loopwright/loopwright/manager/client"
)

// collecting is the file that only the garbage collector needs.
const collecting = "optional/garbagecollector.yaml"

// The rights of the garbage collector are wide: it must use all verbs, and need no other.
func TestTheGarbageCollectorNeedsTheOptionalRulesAndNoOthers(t *testing.T) {
	ctx := t.Context()
	own := clustertest.WithOriginals(t, "-garbage-collector-controller")
	c, err := client.New(own.RESTConfig(), client.Options{})
	require.NoError(t, err)
	apply(t, c, collecting)
	l := &record{
		own: home, streams: rights{}, elsewhere: rights{}, atHome: rights{}, lose: rights{},
	}
	runAsServiceAccount(t, own.RESTConfig(), l, "garbagecollector")

	u := &users{t, c, "default"}
	root := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "root"}}
	require.NoError(t, u.Create(ctx, root))
	leaf := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "leaf", OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "v1", Kind: "ConfigMap", Name: root.Name, UID: root.UID,
		}},
	}}
	require.NoError(t, u.Create(ctx, leaf))
	require.NoError(t, u.Delete(ctx, root,
		client.PropagationPolicy(metav1.DeletePropagationForeground)))
	for _, object := range []client.Object{root, leaf} {
		u.until(object.GetName()+" is gone", func() bool {
			return apierrors.IsNotFound(u.Get(ctx, client.ObjectKeyFromObject(object), object))
		})
	}

	besides, atHome := grantedBy(t, collecting)
	require.Equal(t, rights{{"", "configmaps", "create"}: true}, atHome)
	// the leaf may be gone before the answer that says so has arrived
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		l.mu.Lock()
		defer l.mu.Unlock()
		assert.True(t, l.atHome[right{"", "configmaps", "create"}], "the probe")
		used, watchesRoles := rights{}, false
		for r := range l.elsewhere {
			watchesRoles = watchesRoles || r.group == "rbac.authorization.k8s.io" && r.verb == "watch"
			if r.resource != "events" {
				used[right{"*", "*", r.verb}] = true
			}
		}
		assert.Equal(t, besides, used)
		assert.True(t, watchesRoles, "it watches everything")
	}, time.Minute, 50*time.Millisecond)
	l.mu.Lock()
	defer l.mu.Unlock()
	require.Empty(t, l.refused)
}
