package stories

import (
	"context"
	"flag"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
