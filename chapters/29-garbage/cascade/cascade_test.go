package cascade

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/loopwright/loopwright/cluster"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/mini"
)

// A reader presses Ctrl-C while the Pod takes its time. Its namespace would be there for good.
func TestAnInterruptedStoryLeavesNoNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(fakeapi.Options{FinalizeNamespaces: true})
		defer server.Close()
		ctx, interrupt := context.WithTimeout(t.Context(), 3*time.Second)
		defer interrupt()
		nothing := func(context.Context, *demo.Demo, *mini.Manager) error { return nil }
		require.Error(t, demo.On(ctx, io.Discard, cluster.Of("in memory", server.Config()), Story(nothing)))
		client := kubernetes.NewForConfigOrDie(server.Config())
		left, err := client.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		require.Empty(t, left.Items, "a finalizer keeps it, and the namespace")
	})
}
