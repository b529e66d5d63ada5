package client

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	appsapply "k8s.io/client-go/applyconfigurations/apps/v1"
	autoscalingapply "k8s.io/client-go/applyconfigurations/autoscaling/v1"
)

// A controller writes a status more often than anything else, and reads the object the next time.
func TestAReadWaitsForWritesOfSubresources(t *testing.T) {
	none := DisableReadYourWritesConsistency
	patch := func(text string) Patch { return RawPatch(types.MergePatchType, []byte(text)) }
	inLateWorld(t, CacheOptions{}, func(w *lateWorld) {
		ctx := w.Context()
		get := func() error { return w.Get(ctx, shopKey("web"), &appsv1.Deployment{}) }
		web, scale := deployment("web"), &autoscalingv1.Scale{}
		require.NoError(w, w.Create(ctx, web))
		w.waits(get)
		scaleTo := func(replicas int32) Object {
			require.NoError(w, w.SubResource("scale").Get(ctx, web, scale))
			scale.Spec.Replicas = replicas
			return scale
		}
		withStatus := func(ready int32) *appsapply.DeploymentApplyConfiguration {
			return appsapply.Deployment("web", "shop").WithStatus(appsapply.DeploymentStatus().WithReadyReplicas(ready))
		}
		for _, c := range []struct {
			name  string
			write func(n int32, none bool) error
		}{
			{"update of the status", func(n int32, skip bool) error {
				web.ResourceVersion, web.Status.Replicas = "", n
				if skip {
					return w.Status().Update(ctx, web, none)
				}
				return w.Status().Update(ctx, web)
			}},
			{"patch of the status", func(n int32, skip bool) error {
				text := patch(`{"status":{"observedGeneration":` + string('0'+n) + `}}`)
				if skip {
					return w.Status().Patch(ctx, web, text, none)
				}
				return w.Status().Patch(ctx, web, text)
			}},
			{"apply of the status", func(n int32, skip bool) error {
				if skip {
					return w.Status().Apply(ctx, withStatus(n), FieldOwner("me"), ForceOwnership, none)
				}
				return w.Status().Apply(ctx, withStatus(n), FieldOwner("me"), ForceOwnership)
			}},
			{"update of the scale, which has a form of its own", func(n int32, skip bool) error {
				if skip {
					return w.SubResource("scale").Update(ctx, deployment("web"), WithSubResourceBody(scaleTo(n)), none)
				}
				return w.SubResource("scale").Update(ctx, deployment("web"), WithSubResourceBody(scaleTo(n)))
			}},
			{"patch of the scale", func(n int32, skip bool) error {
				text := patch(`{"spec":{"replicas":` + string('2'+n) + `}}`)
				if skip {
					return w.SubResource("scale").Patch(ctx, deployment("web"), text, WithSubResourceBody(scale), none)
				}
				return w.SubResource("scale").Patch(ctx, deployment("web"), text, WithSubResourceBody(scale))
			}},
		} {
			w.Log(c.name)
			require.NoError(w, c.write(2, true))
			w.answersAtOnce(get)
			require.NoError(w, c.write(3, false))
			w.waits(get)
		}

		require.NoError(w, w.Create(ctx, pod("p")))
		w.cache.see(ctx)
		w.answersAtOnce(func() error { return w.Get(ctx, shopKey("p"), &corev1.Pod{}) })
		require.NoError(w, w.SubResource("eviction").Create(ctx, pod("p"), &policyv1.Eviction{}))
		w.answersAtOnce(func() error { return w.Get(ctx, shopKey("p"), &corev1.Pod{}) })
	})
}

func TestAnErrorOfASubresourceIsTheClients(t *testing.T) {
	inLateWorld(t, CacheOptions{}, func(w *lateWorld) {
		ctx, none := w.Context(), deployment("none")
		require.True(w, apierrors.IsNotFound(w.Status().Update(ctx, none)))
		require.True(w, apierrors.IsNotFound(w.Status().Patch(ctx, none, RawPatch(types.MergePatchType, []byte("{}")))))
		require.Error(w, w.Status().Apply(ctx, appsapply.Deployment("none", "shop")))
		body := autoscalingapply.Scale().WithSpec(autoscalingapply.ScaleSpec().WithReplicas(4))
		require.Error(w, w.SubResource("scale").Apply(ctx, appsapply.Deployment("none", "shop"), &SubResourceApplyOptions{SubResourceBody: body}))
		require.Zero(w, w.remembered())
	})
}

// fakeapi cannot apply a scale, so that the answer is made up: a scale has the version of its object.
func TestABodyThatWasAppliedHasTheVersionOfTheObject(t *testing.T) {
	inLateWorld(t, CacheOptions{}, func(w *lateWorld) {
		body := autoscalingapply.Scale().WithResourceVersion("1000000")
		obj := appsapply.Deployment("web", "shop").WithResourceVersion("7")
		require.NoError(w, w.reader.applied(obj, body, false, func() error { return nil }))
		log := w.reader.logOf(&appsv1.Deployment{})
		version, _, _ := log.answered(shopKey("web"))
		require.Equal(w, "1000000", version)
		require.NoError(w, w.reader.applied(appsapply.Deployment("db", "shop").WithResourceVersion("7"), nil, false, func() error { return nil }))
		version, _, _ = log.answered(shopKey("db"))
		require.Equal(w, "7", version)
	})
}
