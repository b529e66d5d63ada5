package controllerutil_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/controller/controllerutil"
)

var webKey = client.ObjectKey{Namespace: "shop", Name: "web"}

type world struct {
	*testing.T
	server *fakeapi.Server
	client.Client
}

// inWorld runs a test in a bubble, with a server that has nothing.
func inWorld(t *testing.T, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, server: fakeapi.New(fakeapi.Options{AnyNamespace: true})}
		defer w.server.Close()
		var err error
		w.Client, err = client.New(w.server.Config(), client.Options{})
		require.NoError(t, err)
		test(w)
	})
}

// make makes the Deployment web, with a status.
func (w *world) make() *appsv1.Deployment {
	w.Helper()
	d := newDeployment()
	require.NoError(w, w.Create(w.Context(), d))
	d.Status.Replicas = 3
	require.NoError(w, w.Status().Update(w.Context(), d))
	w.server.ForgetRequests()
	return d
}

func newDeployment() *appsv1.Deployment {
	labels := map[string]string{"app": "web"}
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "web:1"}}}},
	}}
}

func empty() *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
}

func (w *world) stored() *appsv1.Deployment {
	w.Helper()
	d := &appsv1.Deployment{}
	require.NoError(w, w.Get(w.Context(), webKey, d))
	return d
}

// sent are the requests since the last call.
func (w *world) sent() (all []string) {
	for _, r := range w.server.Requests(fakeapi.Match{Resource: "deployments"}) {
		all = append(all, r.String())
	}
	w.server.ForgetRequests()
	return all
}

const (
	get         = "get deployments shop/web"
	update      = "update deployments shop/web"
	patch       = "patch deployments shop/web"
	patchStatus = "patch deployments/status shop/web"
)

// A write that changes nothing wakes everybody who watches, and a change that is not written is lost.
func TestAnObjectIsWrittenIfItDiffersAndOnlyThen(t *testing.T) {
	paused := func(d *appsv1.Deployment) { d.Spec.Paused = true }
	observed := func(d *appsv1.Deployment) { d.Status.ObservedGeneration = 7 }
	for _, c := range []struct {
		name          string
		change        func(*appsv1.Deployment)
		update, patch controllerutil.OperationResult
		updates       []string
		patches       []string
	}{
		{"nothing", func(*appsv1.Deployment) {}, "unchanged", "unchanged", []string{get}, []string{get}},
		{"the spec", paused, "updated", "updated", []string{get, update}, []string{get, patch}},
		{"the status", observed, "updated", "updatedStatusOnly", []string{get, update}, []string{get, patchStatus}},
		{"both", func(d *appsv1.Deployment) { paused(d); observed(d) }, "updated", "updatedStatus", []string{get, update}, []string{get, patch, patchStatus}},
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				before := w.make()
				c.change(before)
				d := empty()
				result, err := controllerutil.CreateOrPatch(w.Context(), w, d, func() error { c.change(d); return nil })
				require.NoError(w, err)
				require.Equal(w, c.patch, result)
				require.Equal(w, c.patches, w.sent())
				require.Equal(w, w.stored(), d, "what the caller holds is what there is")
				require.Equal(w, before.Spec, d.Spec)
				require.Equal(w, before.Status, d.Status)
			})
			inWorld(t, func(w *world) {
				before := w.make()
				c.change(before)
				d := empty()
				result, err := controllerutil.CreateOrUpdate(w.Context(), w, d, func() error { c.change(d); return nil })
				require.NoError(w, err)
				require.Equal(w, c.update, result)
				require.Equal(w, c.updates, w.sent())
				require.Equal(w, w.stored(), d, "what the caller holds is what there is")
				require.Equal(w, before.Spec, d.Spec)
				require.Zero(w, d.Status.ObservedGeneration, "an update leaves the status alone")
			})
		})
	}
}

type call = func(w *world, d *appsv1.Deployment, f controllerutil.MutateFn) (controllerutil.OperationResult, error)

var calls = []struct {
	name string
	do   call
}{
	{"CreateOrUpdate", func(w *world, d *appsv1.Deployment, f controllerutil.MutateFn) (controllerutil.OperationResult, error) {
		return controllerutil.CreateOrUpdate(w.Context(), w, d, f)
	}},
	{"CreateOrPatch", func(w *world, d *appsv1.Deployment, f controllerutil.MutateFn) (controllerutil.OperationResult, error) {
		return controllerutil.CreateOrPatch(w.Context(), w, d, f)
	}},
}

func each(t *testing.T, test func(w *world, do call)) {
	t.Helper()
	for _, c := range calls {
		t.Run(c.name, func(t *testing.T) { inWorld(t, func(w *world) { test(w, c.do) }) })
	}
}

// The object would be made without what the caller wants, or not at all.
func TestAnObjectThatIsMissingIsMade(t *testing.T) {
	each(t, func(w *world, do call) {
		d := newDeployment()
		result, err := do(w, d, func() error { d.Spec.Paused = true; return nil })
		require.NoError(w, err)
		require.Equal(w, controllerutil.OperationResultCreated, result)
		require.True(w, w.stored().Spec.Paused)
		require.NotEmpty(w, d.UID)
		result, err = do(w, empty(), nil)
		require.NoError(w, err, "without a function, an object that is there is right as it is")
		require.Equal(w, controllerutil.OperationResultNone, result)
	})
}

// The controller would write something else than its author meant.
func TestNothingIsWrittenIfTheFunctionFailsOrRenamesTheObject(t *testing.T) {
	errNotNow := errors.New("not now")
	each(t, func(w *world, do call) {
		for _, there := range []bool{false, true} {
			if there {
				w.make()
			}
			result, err := do(w, newDeployment(), func() error { return errNotNow })
			require.ErrorIs(w, err, errNotNow)
			require.Equal(w, controllerutil.OperationResultNone, result)
			d := newDeployment()
			result, err = do(w, d, func() error { d.Name = "other"; return nil })
			require.ErrorContains(w, err, "set name and namespace before the call")
			require.Equal(w, controllerutil.OperationResultNone, result)
			require.Equal(w, []string{get, get}, w.sent())
		}
	})
}

// A reconciler has to know that it must try again.
func TestWhatTheServerRefusesIsTheAnswer(t *testing.T) {
	each(t, func(w *world, do call) {
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "deployments", Verb: "get"}, Times: 1, Status: fakeapi.InternalError()})
		_, err := do(w, newDeployment(), nil)
		require.True(w, apierrors.IsInternalError(err), "%v", err)
		require.Equal(w, []string{get}, w.sent(), "that a read fails does not mean that the object is missing")

		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "deployments", Verb: "create"}, Times: 1, Status: fakeapi.Conflict()})
		result, err := do(w, newDeployment(), nil)
		require.True(w, apierrors.IsConflict(err), "%v", err)
		require.Equal(w, controllerutil.OperationResultNone, result)

		w.make()
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "deployments", Verb: "update"}, Status: fakeapi.Conflict()})
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "deployments", Verb: "patch"}, Status: fakeapi.Conflict()})
		d := empty()
		result, err = do(w, d, func() error { d.Spec.Paused = true; return nil })
		require.True(w, apierrors.IsConflict(err), "%v", err)
		require.Equal(w, controllerutil.OperationResultNone, result)
	})
}

// The caller would not know that a part of it is done.
func TestTheSecondOfTwoPatchesFails(t *testing.T) {
	inWorld(t, func(w *world) {
		w.make()
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Subresource: "status"}, Status: fakeapi.InternalError()})
		d := empty()
		result, err := controllerutil.CreateOrPatch(w.Context(), w, d, func() error { d.Spec.Paused, d.Status.ObservedGeneration = true, 7; return nil })
		require.True(w, apierrors.IsInternalError(err), "%v", err)
		require.Equal(w, controllerutil.OperationResultUpdated, result)
	})
}

// controller-runtime writes that there is no status.
func TestAnUnstructuredObjectKeepsItsStatus(t *testing.T) {
	for _, spec := range []bool{false, true} {
		inWorld(t, func(w *world) {
			w.make()
			free := &unstructured.Unstructured{}
			free.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
			free.SetNamespace("shop")
			free.SetName("web")
			result, err := controllerutil.CreateOrPatch(w.Context(), w, free, func() error {
				if spec {
					if err := unstructured.SetNestedField(free.Object, true, "spec", "paused"); err != nil {
						return err
					}
				}
				return unstructured.SetNestedField(free.Object, int64(7), "status", "observedGeneration")
			})
			require.NoError(w, err)
			require.Equal(w, map[bool]controllerutil.OperationResult{false: "updatedStatusOnly", true: "updatedStatus"}[spec], result)
			stored := w.stored()
			require.Equal(w, spec, stored.Spec.Paused)
			require.EqualValues(w, []int64{3, 7}, []int64{int64(stored.Status.Replicas), stored.Status.ObservedGeneration})
			replicas, _, _ := unstructured.NestedInt64(free.Object, "status", "replicas")
			require.EqualValues(w, 3, replicas)
		})
	}
}
