package finalizer_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/interceptor"
	"github.com/loopwright/loopwright/manager/controller/controllerutil"
	"github.com/loopwright/loopwright/manager/finalizer"
)

const dns = "shop.example/dns"

var (
	webKey = client.ObjectKey{Namespace: "shop", Name: "web"}
	// errCrash ends a reconcile as the end of the program does: what it has written stays, and what
	// it knew is lost.
	errCrash = errors.New("the program ended")
)

// shop is a controller that gives each ConfigMap a DNS record, which is outside of the cluster. The
// tests say where its program ends and where a user comes between.
type shop struct {
	*testing.T
	server  *fakeapi.Server
	client  client.Client // of the controller
	user    client.Client
	records map[string]string // name of the record -> UID of the ConfigMap that it was made for
	nameOf  func(client.Object) string
	// recordFirst is the wrong order: the record is made, and then the finalizer is written.
	recordFirst bool
	// cached is what the controller reads instead of what there is; nil is what there is.
	cached *corev1.ConfigMap

	step        int    // writes so far, to the cluster and outside
	crashBefore int    // the number of the write before which the program ends; 0 is none
	crashAfter  int    // the same, after the write
	userAt      int    // the number of the write before which the user comes
	visit       func() // what the user does
	cleanups    int    // calls of the cleanup
	down        bool   // whether the DNS server is
}

// inShop runs a test in a bubble.
func inShop(t *testing.T, test func(s *shop)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(fakeapi.Options{AnyNamespace: true})
		defer server.Close()
		c, err := client.NewWithWatch(server.Config(), client.Options{})
		require.NoError(t, err)
		s := &shop{T: t, server: server, user: c, records: map[string]string{},
			nameOf: client.Object.GetName}
		s.client = interceptor.NewClient(c, interceptor.Funcs{
			Update: func(ctx context.Context, c client.WithWatch, obj client.Object,
				opts ...client.UpdateOption) error {
				return s.write(func() error { return c.Update(ctx, obj, opts...) })
			},
		})
		test(s)
	})
}

// write is one write, to the cluster or outside.
func (s *shop) write(do func() error) error {
	s.step++
	if s.step == s.userAt {
		s.visit()
	}
	if s.step == s.crashBefore {
		return errCrash
	}
	if err := do(); err != nil {
		return err
	}
	if s.step == s.crashAfter {
		return errCrash
	}
	return nil
}

// Finalize removes the record.
func (s *shop) Finalize(_ context.Context, obj client.Object) (finalizer.Result, error) {
	s.cleanups++
	if s.down {
		return finalizer.Result{}, errors.New("the DNS server is down")
	}
	return finalizer.Result{}, s.write(func() error {
		delete(s.records, s.nameOf(obj))
		return nil
	})
}

func (s *shop) makeRecord(obj client.Object) error {
	return s.write(func() error { s.records[s.nameOf(obj)] = string(obj.GetUID()); return nil })
}

// reconcile is what a controller does with finalizers.
func (s *shop) reconcile() error {
	obj := s.cached.DeepCopy()
	if obj == nil {
		obj = &corev1.ConfigMap{}
		if err := s.client.Get(s.Context(), webKey, obj); err != nil {
			return client.IgnoreNotFound(err)
		}
	}
	if s.recordFirst && obj.DeletionTimestamp.IsZero() {
		if err := s.makeRecord(obj); err != nil {
			return err
		}
	}
	all := finalizer.NewFinalizers()
	require.NoError(s, all.Register(dns, s))
	result, err := all.Finalize(s.Context(), obj)
	if result.Updated {
		err = errors.Join(err, s.client.Update(s.Context(), obj))
	}
	if err != nil || !obj.DeletionTimestamp.IsZero() || s.recordFirst {
		return err
	}
	return s.makeRecord(obj)
}

// settle reconciles as often as it takes: each write causes another look, and so does each error.
// The user comes at the end if it was not their turn before.
func (s *shop) settle() {
	s.Helper()
	for range 4 {
		_ = s.reconcile()
	}
	if s.visit != nil && s.step < s.userAt {
		s.visit()
	}
	for range 4 {
		_ = s.reconcile()
	}
}

// open makes the ConfigMap.
func (s *shop) open(finalizers ...string) *corev1.ConfigMap {
	s.Helper()
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: webKey.Namespace,
		Name: webKey.Name, Finalizers: finalizers}}
	require.NoError(s, s.user.Create(s.Context(), obj))
	return obj
}

func (s *shop) delete() {
	s.Helper()
	require.NoError(s, s.user.Delete(s.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: webKey.Namespace,
			Name: webKey.Name}}))
}

// stored is what there is; nil if there is nothing.
func (s *shop) stored() *corev1.ConfigMap {
	s.Helper()
	obj := &corev1.ConfigMap{}
	err := s.user.Get(s.Context(), webKey, obj)
	require.NoError(s, client.IgnoreNotFound(err))
	if err != nil {
		return nil
	}
	return obj
}

func (s *shop) relabel() {
	s.Helper()
	obj := s.stored()
	obj.Labels = map[string]string{"team": "fruit"}
	require.NoError(s, s.user.Update(s.Context(), obj))
}

// removed is the object without its finalizer.
func removed(obj *corev1.ConfigMap) *corev1.ConfigMap {
	obj = obj.DeepCopy()
	controllerutil.RemoveFinalizer(obj, dns)
	return obj
}
