package fakeapi_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/loopwright/loopwright/internal/fakeapi"
)

func TestARestoredServerHasItsOldObjectsAndGivesVersionsOutTwice(t *testing.T) {
	inBubble(t, fakeapi.Options{}, func(
		t *testing.T, server *fakeapi.Server, c *kubernetes.Clientset,
	) {
		maps := c.CoreV1().ConfigMaps("default")
		create(t, c, "kept")
		backup := server.Backup()
		watching, err := maps.Watch(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		<-watching.ResultChan() // it's there
		lost := create(t, c, "lost")
		require.NoError(t, maps.Delete(t.Context(), "kept", metav1.DeleteOptions{}))
		<-watching.ResultChan()
		<-watching.ResultChan()

		server.Restore(backup)
		_, open := <-watching.ResultChan()
		require.False(t, open, "a watch goes on over a server that was stopped")
		all, err := maps.List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		require.Len(t, all.Items, 1)
		require.Equal(t, "kept", all.Items[0].Name)
		again := create(t, c, "new")
		require.Equal(t, lost.ResourceVersion, again.ResourceVersion, "versions went backwards")

		server.Restore(backup) // a backup may be used again
		all, err = maps.List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		require.Len(t, all.Items, 1)
	})
}
