package stories

import (
	"context"
	"flag"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/internal/simulation"
	"github.com/loopwright/loopwright/manager/client"
)

// greedy reconciles everything, whoever else does. It finds the ConfigMaps, and not what was counted.
func greedy(ctx context.Context, c Colleague) error {
	own, err := client.New(c.Connection, client.Options{})
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		var all corev1.ConfigMapList
		if err := own.List(ctx, &all); err != nil {
			return err
		}
		for i := range all.Items {
			_ = c.Reconcile(ctx, withoutSecrets{own}, client.ObjectKeyFromObject(&all.Items[i]))
		}
		sleep(ctx, 10*time.Second)
	}
	return nil
}

// withoutSecrets reads from a cache that lacks them.
type withoutSecrets struct{ client.Client }

func (c withoutSecrets) Get(
	ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption,
) error {
	if _, is := into.(*corev1.Secret); is {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, key.Name)
	}
	return c.Client.Get(ctx, key, into, options...)
}

// idle does nothing, and takes an object that exists for deleted.
func idle(ctx context.Context, c Colleague) error {
	c.Deleted(client.ObjectKey{Namespace: "team-0", Name: "it-0"})
	<-ctx.Done()
	return nil
}

// Replicas that don't share meet inside an object, and those that do nothing never meet. The story must let
// neither pass.
func TestTheStoryFindsReplicasThatDoNotShare(t *testing.T) {
	if flag.Lookup("simulation.count").Value.String() != "0" {
		t.Skip("this is no test to play days with")
	}
	for name, c := range map[string]struct {
		share  func(context.Context, Colleague) error
		breaks []string
	}{
		"greedy": {greedy, []string{"inside one object", "counted 0 times; when", "after all was done"}},
		"idle":   {idle, []string{"has been deleted, and it hasn't", "wants", "0 of 3 replicas work"}},
	} {
		var all string
		for _, broken := range Shards(c.share).Play(t, 0) {
			all += broken.String() + "\n"
		}
		for _, what := range c.breaks {
			require.Contains(t, all, what, name)
		}
		require.NotContains(t, all, simulation.SameEnd, "an end that's wrong is told once")
	}
}

// A write that's on its way when its sender stops may arrive when the next one has already listed. That
// one needn't know of it, even if its first reconcile fails before it has read anything.
func TestWhoeverTakesOverNeedNotKnowOfAWriteThatArrivesLater(t *testing.T) {
	for seen, isBlamed := range map[int]bool{0: true, 1: false, 2: false} {
		synctest.Test(t, func(t *testing.T) {
			s := newShop(simulation.NewDirect(t, nil), nil)
			key := client.ObjectKey{Namespace: "default", Name: "it"}
			it := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
			require.NoError(t, s.Live.Create(t.Context(), it))
			arrives := func(times string) {
				it.Data = map[string]string{"times": times}
				require.NoError(t, s.Live.Update(t.Context(), it))
			}
			require.True(t, s.begins("a-1", key))
			s.sees("a-1", key, times{})
			arrives("1")
			s.leaves("a-1", key)
			require.True(t, s.begins("b-1", key))
			arrives("2")
			s.leaves("b-1", key)
			require.True(t, s.begins("b-1", key))
			s.sees("b-1", key, times{done: seen})
			s.leaves("b-1", key)
			s.End()
			require.Equal(t, isBlamed, len(s.Broken()) > 0, "it sees %d", seen)
		})
	}
}
