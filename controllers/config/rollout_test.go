package config_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	ctrl "github.com/loopwright/loopwright"
	"github.com/loopwright/loopwright/cluster/clustertest"
	"github.com/loopwright/loopwright/controllers"
	"github.com/loopwright/loopwright/controllers/all"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/metrics/server"
)

// runAsServiceAccount runs the controllers as the manifests do, with the ServiceAccount's token,
// until the test is over.
func runAsServiceAccount(t *testing.T, administrator *rest.Config, l *record, names ...string) {
	t.Helper()
	typed, err := kubernetes.NewForConfig(administrator)
	require.NoError(t, err)
	token, err := typed.CoreV1().ServiceAccounts(home).CreateToken(t.Context(), name,
		&authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	require.NoError(t, err)
	config := rest.AnonymousClientConfig(administrator)
	config.BearerToken, config.QPS = token.Status.Token, -1
	config.Wrap(l.wrap)
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		LeaderElection: true, LeaderElectionID: name, LeaderElectionNamespace: home,
		LeaderElectionReleaseOnCancel: true,
		Metrics:                       server.Options{BindAddress: "0"},
	})
	require.NoError(t, err)
	require.NoError(t, all.Add(mgr,
		controllers.Options{Probe: controllers.ProbeOptions{Namespace: home}}, names...))
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1) // one: the goroutine can end without a receiver
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		assert.NoError(t, <-ended)
	})
}

// Each rule is used, and no request is refused: so no rule is superfluous, and none is missing.
func TestTheServiceAccountHasTheRightsThatARolloutNeedsAndNoOthers(t *testing.T) {
	c := administrator(t)
	apply(t, c)
	l := &record{own: home, streams: rights{}, elsewhere: rights{}, atHome: rights{}, lose: rights{
		{"", "pods", "create"}: true, {"apps", "replicasets", "create"}: true,
	}}
	runAsServiceAccount(t, clustertest.Config(t), l, all.Default()...)
	u := &users{t, c, clustertest.Namespace(t)}
	u.rollOut()
	u.adoptAndRelease()
	u.replaceTheDeployment()
	u.scaleUpAndDown()
	u.deleteServices()

	everywhere, atHome := granted(t)
	l.settle(t, everywhere, atHome)
}

// users do what makes the controllers use their rights.
type users struct {
	*testing.T
	client.Client
	namespace string
}

var labels = map[string]string{"app": "web"}

func (u *users) meta() metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: "web", Namespace: u.namespace}
}

func (u *users) service() *corev1.Service {
	return &corev1.Service{
		ObjectMeta: u.meta(),
		Spec:       corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: 80}}},
	}
}

func (u *users) deployment(image string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: u.meta(), Spec: appsv1.DeploymentSpec{
		Replicas: new(int32(2)), RevisionHistoryLimit: new(int32(0)),
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: image}}},
		},
	}}
}

func (u *users) until(what string, is func() bool) {
	u.Helper()
	require.Eventually(u, is, time.Minute, 50*time.Millisecond, what)
}

// patch changes the Deployment.
func (u *users) patch(change func(*appsv1.Deployment)) {
	u.Helper()
	d := &appsv1.Deployment{ObjectMeta: u.meta()}
	require.NoError(u, u.Get(u.Context(), client.ObjectKeyFromObject(d), d))
	before := d.DeepCopy()
	change(d)
	require.NoError(u, u.Patch(u.Context(), d, client.MergeFrom(before)))
}

// complete waits for the end of a rollout, and for its addresses.
func (u *users) complete(replicas int32) {
	u.Helper()
	u.until("the rollout is complete", func() bool {
		d := &appsv1.Deployment{}
		e := &corev1.Endpoints{}
		key := client.ObjectKeyFromObject(u.service())
		if u.Get(u.Context(), key, d) != nil || u.Get(u.Context(), key, e) != nil {
			return false
		}
		addresses := 0
		for _, subset := range e.Subsets {
			addresses += len(subset.Addresses)
		}
		s := d.Status
		return s.ObservedGeneration == d.Generation && s.Replicas == replicas &&
			s.UpdatedReplicas == replicas && s.AvailableReplicas == replicas &&
			addresses == int(replicas)
	})
}

// rollOut updates the Deployment, which keeps no old ReplicaSets, and asks for a rollback by the
// old annotation.
func (u *users) rollOut() {
	require.NoError(u, u.Create(u.Context(), u.service()))
	require.NoError(u, u.Create(u.Context(), u.deployment("web:1")))
	u.complete(2)
	u.patch(func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "web:2" })
	u.complete(2)
	u.until("the old ReplicaSet is deleted", func() bool {
		var sets appsv1.ReplicaSetList
		return u.List(u.Context(), &sets, client.InNamespace(u.namespace)) == nil &&
			len(sets.Items) == 1
	})
	const rollback = appsv1.DeprecatedRollbackTo
	u.patch(func(d *appsv1.Deployment) { d.Annotations[rollback] = "1" })
	u.until("the wish for a rollback is answered", func() bool {
		d := &appsv1.Deployment{}
		return u.Get(u.Context(), client.ObjectKeyFromObject(u.service()), d) == nil &&
			d.Annotations[rollback] == ""
	})
}

// adoptAndRelease makes a Pod an orphan by a label, and gives it back.
func (u *users) adoptAndRelease() {
	var pods corev1.PodList
	require.NoError(u, u.List(u.Context(), &pods, client.InNamespace(u.namespace),
		client.MatchingLabels(labels)))
	pod := &pods.Items[0]
	for _, value := range []string{"debug", "web"} {
		before := pod.DeepCopy()
		pod.Labels["app"] = value
		require.NoError(u, u.Patch(u.Context(), pod, client.MergeFrom(before)))
		u.until("the Pod has another owner", func() bool {
			err := u.Get(u.Context(), client.ObjectKeyFromObject(pod), pod)
			return apierrors.IsNotFound(err) ||
				err == nil && (metav1.GetControllerOf(pod) != nil) == (value == "web")
		})
	}
	u.complete(2)
}

// replaceTheDeployment deletes the Deployment, but not its ReplicaSets, which the next one adopts.
func (u *users) replaceTheDeployment() {
	require.NoError(u, u.Delete(u.Context(), u.deployment(""),
		client.PropagationPolicy(metav1.DeletePropagationOrphan)))
	u.until("the Deployment is gone", func() bool {
		return apierrors.IsNotFound(u.Get(u.Context(), client.ObjectKeyFromObject(u.service()),
			&appsv1.Deployment{}))
	})
	require.NoError(u, u.Create(u.Context(), u.deployment("web:2")))
	u.complete(2)
}

// scaleUpAndDown causes the same events again, which the recorder combines.
func (u *users) scaleUpAndDown() {
	for _, replicas := range []int32{0, 2, 0, 2, 0} {
		scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}
		require.NoError(u, u.SubResource("scale").Update(u.Context(), u.deployment(""),
			client.WithSubResourceBody(scale)))
		u.complete(replicas)
	}
}

// deleteServices deletes a Service with Endpoints, and one that never had any. The API server
// deletes the Endpoints of the first; so there are also Endpoints without a Service, as if it had
// been deleted while no controller was running.
func (u *users) deleteServices() {
	left := &corev1.Endpoints{ObjectMeta: u.meta()}
	left.Name, left.Labels = "left", map[string]string{
		"endpoints.kubernetes.io/managed-by": "endpoint-controller",
	}
	require.NoError(u, u.Create(u.Context(), left))
	u.until("what a Service has left behind is gone", func() bool {
		return apierrors.IsNotFound(u.Get(u.Context(), client.ObjectKeyFromObject(left), left))
	})
	require.NoError(u, u.Delete(u.Context(), u.service()))
	u.until("the Endpoints are gone", func() bool {
		return apierrors.IsNotFound(u.Get(u.Context(), client.ObjectKeyFromObject(u.service()),
			&corev1.Endpoints{}))
	})
	free := u.service()
	free.Name, free.Spec.Selector = "free", nil
	require.NoError(u, u.Create(u.Context(), free))
	require.NoError(u, u.Delete(u.Context(), free))
}
