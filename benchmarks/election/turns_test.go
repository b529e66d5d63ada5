package election

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/cluster/clustertest"
)

func TestMain(m *testing.M) { os.Exit(clustertest.Run(m)) }

// fields are the names of what is in a Lease's spec on the wire.
func fields(t *testing.T, spec any) []string {
	t.Helper()
	raw, err := json.Marshal(spec)
	require.NoError(t, err)
	var read map[string]any
	require.NoError(t, json.Unmarshal(raw, &read))
	return slices.Sorted(maps.Keys(read))
}

// A program moves from one library to the other in a rolling update: for a while, replicas of both are in
// one election.
func TestBothElectorsTakeTurnsOnTheRealServer(t *testing.T) {
	clients, namespace := clustertest.Client(t), clustertest.Namespace(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	times := Times{6 * time.Second, 4 * time.Second, 500 * time.Millisecond}
	var held [][]string
	var leave context.CancelFunc
	left := make(chan struct{}, 4)
	for term, peer := range []Peer{Theirs, Ours, Theirs, Ours} {
		started := make(chan struct{})
		life, stop := context.WithCancel(ctx)
		identity := string(rune('a' + term))
		go func() {
			peer.Run(life, Replica{Identity: identity, Client: clients.CoordinationV1(), Namespace: namespace, Name: "it",
				Times: times, ReleaseOnCancel: term != 1, // the third has to wait until the second's lease runs out
				Work: func(ctx context.Context) { close(started); <-ctx.Done() }})
			left <- struct{}{}
		}()
		if leave != nil {
			leave()
			<-left
		}
		leave = stop
		select {
		case <-started:
		case <-ctx.Done():
			t.Fatalf("%s does not take over", peer.Name)
		}
		lease, err := clients.CoordinationV1().Leases(namespace).Get(ctx, "it", metav1.GetOptions{})
		require.NoError(t, err)
		require.Equal(t, identity, *lease.Spec.HolderIdentity)
		require.EqualValues(t, term, *lease.Spec.LeaseTransitions, "%s counts on from where the other was", peer.Name)
		require.EqualValues(t, 6, *lease.Spec.LeaseDurationSeconds)
		held = append(held, fields(t, lease.Spec))
	}
	leave()
	<-left
	require.Equal(t, held[0], held[1], "they write the same fields")
	require.Equal(t, held[1], held[2])
	lease, err := clients.CoordinationV1().Leases(namespace).Get(ctx, "it", metav1.GetOptions{})
	require.NoError(t, err)
	require.Empty(t, *lease.Spec.HolderIdentity)
	require.Equal(t, held[0], fields(t, lease.Spec), "a released Lease has the same fields, too")
}
