package deployment

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/interceptor"
	"github.com/loopwright/loopwright/manager/recorder/events"
)

// The controller writes a ReplicaSet that has its size already only to record how large the
// Deployment is; one without Pods needs no record, because it has no part in proportional scaling.
func TestWhenASizeIsWrittenAndTold(t *testing.T) {
	broken := errors.New("the connection broke")
	for _, c := range []struct {
		what      string
		from, to  int32
		remembers bool
		fails     error
		written   bool
		told      string
	}{
		{what: "the same size", from: 2, to: 2},
		{
			what: "the same size, in a Deployment of another", from: 2, to: 2, remembers: true,
			written: true,
		},
		{what: "the same size, one Pod", from: 1, to: 1, remembers: true, written: true},
		{what: "no Pods", from: 0, to: 0, remembers: true},
		{
			what: "none any more", from: 2, to: 0, written: true,
			told: "down replica set NAME from 2 to 0",
		},
		{
			what: "none any more, in a Deployment of another", from: 2, to: 0, remembers: true,
			written: true, told: "down replica set NAME from 2 to 0",
		},
		{what: "more", from: 0, to: 1, written: true, told: "up replica set NAME from 0 to 1"},
		{
			what: "more, but the server does not answer", from: 0, to: 1, fails: broken,
			written: true,
		},
	} {
		rs, writes := setOf("web:1", c.from, 5, 1), 0
		rs.Annotations["mine"] = "stays"
		r := in(interceptor.Funcs{Patch: func(ctx context.Context, to client.WithWatch,
			o client.Object, patch client.Patch, opts ...client.PatchOption) error {
			if writes++; c.fails != nil {
				return c.fails
			}
			return to.Patch(ctx, o, patch, opts...)
		}}, rs)
		require.NoError(t, r.client.Get(t.Context(), client.ObjectKeyFromObject(rs), rs))
		s := newSync(r, had(7))
		s.newRS = rs
		require.ErrorIs(t, s.resize(t.Context(), rs, c.to, c.remembers), c.fails, c.what)
		require.Equal(t, c.written, writes == 1, c.what)
		heard := r.events.(*events.FakeRecorder).Events
		if c.told == "" {
			require.Empty(t, heard, c.what)
		} else {
			require.Equal(t, "Normal ScalingReplicaSet Scaled "+strings.Replace(c.told, "NAME",
				rs.Name, 1), <-heard, c.what)
		}
		require.Equal(t, "stays", s.newRS.Annotations["mine"], c.what)
		if c.written && c.fails == nil {
			require.Equal(t, []string{"7", "8"},
				[]string{s.newRS.Annotations[desiredAnnotation],
					s.newRS.Annotations[maxAnnotation]}, c.what)
			require.Equal(t, c.to, *s.newRS.Spec.Replicas, c.what)
		}
	}
}

// Users see why there is no new ReplicaSet, and still see the rest of the status.
func TestAReplicaSetThatCannotBeCreatedLeavesTheRestOfTheStatus(t *testing.T) {
	full, gone := errors.New("the quota is used up"), errors.New("the connection broke")
	fails := interceptor.Funcs{
		Create: func(context.Context, client.WithWatch, client.Object,
			...client.CreateOption) error {
			return full
		},
	}
	d := had(2)
	d.Status.Replicas, d.Status.ReadyReplicas = 7, 5
	what := "creating the ReplicaSet " +
		nameWith("web", hashOf(&asStored(t, d).Spec.Template, nil)) + ": the quota is used up"
	r := in(fails, d)
	_, err := r.Reconcile(t.Context(), webRequest)
	require.EqualError(t, err, what)
	stored := &appsv1.Deployment{}
	require.NoError(t, r.client.Get(t.Context(), webRequest.NamespacedName, stored))
	require.Equal(t, []int32{7, 5}, []int32{stored.Status.Replicas, stored.Status.ReadyReplicas})
	require.Equal(t, "ReplicaSetCreateError",
		conditions(stored.Status.Conditions).get(appsv1.DeploymentProgressing).Reason)

	fails.SubResourcePatch = func(context.Context, client.Client, string, client.Object,
		client.Patch, ...client.SubResourcePatchOption) error {
		return gone
	}
	_, err = in(fails, d).Reconcile(t.Context(), webRequest)
	require.ErrorContains(t, err, what+"; and then, writing that into the status: ")
	require.ErrorIs(t, err, gone)
}

func TestADeploymentOfOnePodSaysThatItIsScaledUp(t *testing.T) {
	r := in(interceptor.Funcs{}, newWeb(1))
	_, err := r.Reconcile(t.Context(), webRequest)
	require.NoError(t, err)
	require.Contains(t, <-r.events.(*events.FakeRecorder).Events, "from 0 to 1")
}
