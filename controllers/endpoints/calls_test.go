package endpoints

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/internal/simulation"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/manager/recorder/events"
)

var webKey = client.ObjectKey{Namespace: "default", Name: "web"}

// workOn is the Work for the Service web. If it was reconciled before, it has had Endpoints.
func workOn(wasLookedAt bool, objects ...client.Object) simulation.Work {
	return simulation.Work{
		For:     webKey,
		Objects: func() []client.Object { return copied(objects) },
		Indexes: func(client.FieldIndexer) error { return nil },
		New: func(c client.Client, _ client.WriteWaiter) reconcile.Reconciler {
			r := &reconciler{client: c, live: c, events: events.NewFakeRecorder(1000)}
			if wasLookedAt {
				r.memory.looked(webKey, &times{})
			}
			return r
		},
		Shows: func(ctx context.Context, c client.Client) string {
			var list corev1.EndpointsList
			if err := c.List(ctx, &list); err != nil {
				return err.Error()
			}
			var lines []string
			for _, endpoints := range list.Items {
				lines = append(lines, fmt.Sprintf("%s: %v, team %s", endpoints.Name,
					text(endpoints.Subsets), endpoints.Labels["team"]))
			}
			return strings.Join(lines, "; ")
		},
	}
}

func copied(objects []client.Object) []client.Object {
	copies := make([]client.Object, len(objects))
	for i, object := range objects {
		copies[i] = object.DeepCopyObject().(client.Object)
	}
	return copies
}

// After a failed request, the controller must write the Endpoints once, or delete them.
func TestWhicheverCallFailsTheEndpointsAreRight(t *testing.T) {
	one, two := runningPod(1), runningPod(2, notReady)
	right := "web: [10.0.0.1 (10.0.0.2)  http=8080/TCP], team shop"
	full := byHand()
	contentOf(webService(), []*corev1.Pod{one, two}).writeTo(full, noon)
	for _, c := range []struct {
		name string
		work simulation.Work
		want string
	}{
		{"a new Service", workOn(false, webService(), one, two), right},
		{"Endpoints that are not right", workOn(false, webService(), one, two, byHand()), right},
		{"Endpoints that are right", workOn(false, webService(), one, two, full), right},
		{"Endpoints that are gone", workOn(true, webService(), one, two), right},
		{"a Service that is gone", workOn(true, one, two, full), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, c.work.SurvivesEachFailure(t))
		})
	}
}
