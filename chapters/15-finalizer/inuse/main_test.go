package main

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/internal/demo/inusetest"
	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/client"
)

// The chapter's text shows this program.
func TestTheChecksumsStayRight(t *testing.T) { inusetest.Keeps(t, keep) }

// About half of the writes fail. The controller has to try again.
func TestTheChecksumsStayRightThoughWritesFail(t *testing.T) {
	inusetest.KeepsThoughWritesFail(t, keep)
}

// A copy that somebody has deleted, or changed, would be missing when it is needed.
func TestTheCopiesStayRight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(fakeapi.Options{})
		defer server.Close()
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- keep(ctx, server.Config()) }()
		users, err := client.New(server.Config(), client.Options{})
		require.NoError(t, err)
		about := metav1.ObjectMeta{Namespace: "default", Name: "hello", Labels: map[string]string{"checked": "yes"}}
		original := &corev1.ConfigMap{ObjectMeta: about, Data: map[string]string{"a": "1"}}
		require.NoError(t, users.Create(ctx, original))
		owned := &corev1.ConfigMap{}
		read := func() {
			time.Sleep(time.Minute) // the bubble's
			require.NoError(t, users.Get(ctx, client.ObjectKey{Namespace: "default", Name: "hello-copy"}, owned))
			require.Equal(t, map[string]string{"a": "1"}, owned.Data)
			require.True(t, metav1.IsControlledBy(owned, original))
		}
		read()
		owned.Data["a"] = "2"
		require.NoError(t, users.Update(ctx, owned))
		read()
		require.NoError(t, users.Delete(ctx, owned))
		read()
		var all corev1.ConfigMapList
		require.NoError(t, users.List(ctx, &all, client.InNamespace("default")))
		require.Len(t, all.Items, 2, "a copy has no copy")
		stop()
		require.NoError(t, <-ended)
	})
}
