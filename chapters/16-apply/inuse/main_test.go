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

// The data is a user's. A program that came to own it would put old data back, by force.
func TestTheProgramOwnsTheChecksumAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(fakeapi.Options{})
		defer server.Close()
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- keep(ctx, server.Config()) }()
		users, err := client.New(server.Config(), client.Options{})
		require.NoError(t, err)
		object := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "hello", Labels: map[string]string{"checked": "yes"}},
			Data:       map[string]string{"a": "1"},
		}
		require.NoError(t, users.Create(ctx, object))
		time.Sleep(time.Minute) // the bubble's
		require.NoError(t, users.Get(ctx, client.ObjectKeyFromObject(object), object))
		var owned []string
		for _, entry := range object.ManagedFields {
			if entry.Manager == "checksums" {
				owned = append(owned, entry.FieldsV1.GetRawString())
			}
		}
		require.Equal(t, []string{`{"f:metadata":{"f:annotations":{"f:checksum":{}}}}`}, owned)
		stop()
		require.NoError(t, <-ended)
	})
}
