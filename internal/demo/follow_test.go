package demo

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/loopwright/loopwright/internal/fakeapi"
)

// A server ends every watch after a while, and one that has just started may do so
// early. A demo that fails then would be a bad example.
func TestAFollowerWatchesOnWhereTheServerEndedItsWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(fakeapi.Options{})
		defer server.Close()
		client, err := kubernetes.NewForConfig(server.Config())
		require.NoError(t, err)
		fruit, err := follow(t.Context(), server.Config(), "default", "", nil)
		require.NoError(t, err)
		defer fruit.Close()
		for _, name := range []string{"apple", "banana", "cherry"} {
			time.Sleep(time.Hour) // longer than a server lets a watch live
			_, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
			require.NoError(t, err)
			event, err := fruit.Next(t.Context())
			require.NoError(t, err)
			require.Equal(t, name, event.Object.Name, "each change comes once, in order")
		}
		watches := server.Requests(fakeapi.Match{Verb: "watch"})
		require.GreaterOrEqual(t, len(watches), 3, "the server must have ended some")
	})
}

func TestAFollowerThatIsClosedDoesNotWatchOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(fakeapi.Options{})
		defer server.Close()
		fruit, err := follow(t.Context(), server.Config(), "default", "", nil)
		require.NoError(t, err)
		fruit.Close()
		_, err = fruit.Next(t.Context())
		require.Error(t, err)
		require.Len(t, server.Requests(fakeapi.Match{Verb: "watch"}), 1)
	})
}
