package controllerutil_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/controller/controllerutil"
)

// serve keeps the Service of a Deployment.
func (w *world) serve(owner *appsv1.Deployment) (*corev1.Service, controllerutil.OperationResult, error) {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	result, err := controllerutil.CreateOrUpdate(w.Context(), w, service, func() error {
		service.Spec.Selector = owner.Spec.Selector.MatchLabels
		service.Spec.Ports = []corev1.ServicePort{{Port: 80, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(8080)}}
		return controllerutil.SetControllerReference(owner, service, w.Scheme())
	})
	return service, result, err
}

// The Deployment is deleted and made again before its Service is collected. The Service has the UID of
// the old one. The garbage collector would remove it, and the new Deployment would be without.
func TestTheServiceOfADeploymentThatWasMadeAgainIsNotCollected(t *testing.T) {
	inWorld(t, func(w *world) {
		old := w.make()
		_, _, err := w.serve(old)
		require.NoError(w, err)
		require.NoError(w, w.Delete(w.Context(), old))
		next := w.make()
		require.NotEqual(w, old.UID, next.UID)

		service := &corev1.Service{}
		require.NoError(w, w.Get(w.Context(), webKey, service))
		has, err := controllerutil.HasOwnerReference(service.OwnerReferences, next, w.Scheme())
		require.NoError(w, err)
		require.True(w, has, "by name, all seems to be well")
		require.False(w, metav1.IsControlledBy(service, next), "by UID, it is not")

		service, result, err := w.serve(next)
		require.NoError(w, err)
		require.Equal(w, controllerutil.OperationResultUpdated, result)
		require.True(w, metav1.IsControlledBy(service, next))
		_, result, err = w.serve(next)
		require.NoError(w, err)
		require.Equal(w, controllerutil.OperationResultNone, result)
	})
}

// Two Deployments want the same Service. Each would point it to its own Pods, and half of the answers
// would come from the wrong program.
func TestTheServiceOfAnotherDeploymentIsLeftAlone(t *testing.T) {
	inWorld(t, func(w *world) {
		_, _, err := w.serve(w.make())
		require.NoError(w, err)
		other := newDeployment()
		other.Name, other.Spec.Selector = "other", &metav1.LabelSelector{MatchLabels: map[string]string{"app": "other"}}
		other.Spec.Template.Labels = other.Spec.Selector.MatchLabels
		require.NoError(w, w.Create(w.Context(), other))
		_, _, err = w.serve(other)
		require.ErrorAs(w, err, new(*controllerutil.AlreadyOwnedError))
		service := &corev1.Service{}
		require.NoError(w, w.Get(w.Context(), webKey, service))
		require.Equal(w, map[string]string{"app": "web"}, service.Spec.Selector)
	})
}

// A user's change comes between the controller's read and its write. It would be lost.
func TestAChangeBetweenReadAndUpdateIsAConflict(t *testing.T) {
	inWorld(t, func(w *world) {
		w.make()
		d := empty()
		_, err := controllerutil.CreateOrUpdate(w.Context(), w, d, func() error {
			users := w.stored()
			users.Labels = map[string]string{"team": "fruit"}
			require.NoError(w, w.Update(w.Context(), users))
			d.Spec.Paused = true
			return nil
		})
		require.True(w, apierrors.IsConflict(err), "%v", err)
		require.Equal(w, "fruit", w.stored().Labels["team"])

		_, err = controllerutil.CreateOrUpdate(w.Context(), w, d, func() error { d.Spec.Paused = true; return nil })
		require.NoError(w, err)
		require.Equal(w, "fruit", w.stored().Labels["team"])
		require.True(w, w.stored().Spec.Paused)
	})
}

// The finalizer of another program is added between a read and a patch. The list is replaced as a whole,
// and the object goes before the other program has cleaned up.
func TestAFinalizerThatIsPatchedWithoutALockTakesAnotherAway(t *testing.T) {
	patch := func(w *world, options ...client.MergeFromOption) error {
		mine := w.stored()
		theirs := w.stored()
		controllerutil.AddFinalizer(theirs, "bank.example/account")
		require.NoError(w, w.Update(w.Context(), theirs))
		before := mine.DeepCopy()
		controllerutil.AddFinalizer(mine, "shop.example/dns")
		return w.Patch(w.Context(), mine, client.MergeFromWithOptions(before, options...))
	}
	inWorld(t, func(w *world) {
		w.make()
		require.NoError(w, patch(w))
		require.Equal(w, []string{"shop.example/dns"}, w.stored().Finalizers, "the account's is lost")
	})
	inWorld(t, func(w *world) {
		w.make()
		require.True(w, apierrors.IsConflict(patch(w, client.MergeFromWithOptimisticLock{})))
		require.Equal(w, []string{"bank.example/account"}, w.stored().Finalizers)
	})
}
