package mini_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/mini"
)

const ours, theirs = "example.com/bucket", "example.com/theirs"

// The caller writes the object only if it has changed.
func TestAFinalizerIsAddedAndRemovedInMemory(t *testing.T) {
	obj := &corev1.ConfigMap{}
	require.False(t, mini.ContainsFinalizer(obj, ours))
	require.True(t, mini.AddFinalizer(obj, ours), "true means that there is something to write")
	require.True(t, mini.ContainsFinalizer(obj, ours))
	require.False(t, mini.AddFinalizer(obj, ours), "the object already has it")
	require.True(t, mini.AddFinalizer(obj, theirs))
	require.Equal(t, []string{ours, theirs}, obj.Finalizers, "each finalizer once, in their order")
	require.True(t, mini.RemoveFinalizer(obj, ours), "true means that there is something to write")
	require.Equal(t, []string{theirs}, obj.Finalizers, "the finalizer of another process stays")
	require.False(t, mini.RemoveFinalizer(obj, ours), "the object does not have it")
	require.Equal(t, []string{theirs}, obj.Finalizers)
	require.True(t, mini.RemoveFinalizer(obj, theirs))
	require.Empty(t, obj.Finalizers)
}

// Two structs that were copied by assignment share the memory of their finalizers.
func TestAnotherCopyOfAnObjectKeepsItsFinalizers(t *testing.T) {
	list := append(make([]string, 0, 8), ours, theirs)
	a := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Finalizers: list}}
	b := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Finalizers: list}}
	mini.RemoveFinalizer(a, ours)
	require.Equal(t, []string{ours, theirs}, b.Finalizers, "a was changed, and b with it")
	c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Finalizers: list}}
	mini.AddFinalizer(b, "example.com/b")
	mini.AddFinalizer(c, "example.com/c")
	require.Equal(t, []string{ours, theirs, "example.com/b"}, b.Finalizers,
		"c was changed, and b with it")
}

// buckets is something outside of the cluster: one bucket for each ConfigMap.
type buckets struct {
	*world
	mu             sync.Mutex // guards what a clean-up uses
	made, cleanups map[string]int
	err            error // of the clean-up
	during         func()
}

func (b *buckets) Reconcile(ctx context.Context, req mini.Request) (mini.Result, error) {
	stored := b.get(req.Name)
	if stored == nil || !mini.ContainsFinalizer(stored, ours) {
		b.Errorf("if the process dies now, the bucket of %s is never deleted", req.Name)
	}
	b.made[req.Name]++
	return mini.Result{RequeueAfter: time.Hour}, nil
}

func (b *buckets) cleanup(_ context.Context, obj *corev1.ConfigMap) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !mini.ContainsFinalizer(obj, ours) {
		b.Errorf("a clean-up that writes this object removes the finalizer before it has succeeded")
	}
	b.cleanups[obj.Name]++
	if b.during != nil {
		b.during()
	}
	if b.err == nil {
		delete(b.made, obj.Name)
	}
	return b.err
}

func (b *buckets) get(name string) *corev1.ConfigMap {
	obj, err := b.Other.CoreV1().ConfigMaps("default").Get(b.ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(b, err)
	return obj
}

func (b *buckets) create(finalizers ...string) {
	_, err := b.Other.CoreV1().ConfigMaps("default").Create(b.ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "x", Finalizers: finalizers},
	}, metav1.CreateOptions{})
	require.NoError(b, err)
	synctest.Wait()
}

func (b *buckets) delete() {
	err := b.Other.CoreV1().ConfigMaps("default").Delete(b.ctx, "x", metav1.DeleteOptions{})
	require.NoError(b, err)
	synctest.Wait()
}

func (b *buckets) patch(patch string) {
	_, err := b.Other.CoreV1().ConfigMaps("default").
		Patch(b.ctx, "x", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(b, err)
}

var x = mini.Request{Namespace: "default", Name: "x"}

// withBuckets hands out a Finalizing; with run, a controller calls it.
func withBuckets(t *testing.T, test func(b *buckets, f *mini.Finalizing[*corev1.ConfigMap], run func())) {
	inMemory(t, func(w *world) {
		config := w.Server.Config()
		config.UserAgent = "buckets" // faults for it hit no other process
		cluster, err := mini.NewCluster(config, scheme.Scheme)
		require.NoError(w, err)
		cache := mini.NewCache(cluster)
		b := &buckets{world: w, made: map[string]int{}, cleanups: map[string]int{}}
		f := &mini.Finalizing[*corev1.ConfigMap]{
			Client: mini.NewCachedClient(cache), Finalizer: ours, Cleanup: b.cleanup, Next: b,
		}
		maps, err := cache.Informer(&corev1.ConfigMap{})
		require.NoError(w, err)
		w.run(cache.Run)
		synctest.Wait()
		test(b, f, func() {
			c := mini.NewController("buckets", f)
			c.Watch(maps, mini.EnqueueObject)
			w.run(c.Run)
			synctest.Wait()
		})
	})
}

// A controller is often called for an object that has been deleted in the meantime.
//
// Function: Finalizing.Reconcile
func TestADeletedObjectNeedsNothing(t *testing.T) {
	withBuckets(t, func(b *buckets, f *mini.Finalizing[*corev1.ConfigMap], _ func()) {
		result, err := f.Reconcile(b.ctx, x)
		require.NoError(b, err, "the object was deleted: that's not a failure")
		require.Zero(b, result)
		require.Empty(b, b.made)
		require.Empty(b, b.cleanups)
	})
}

// An error that is taken for an object would make a bucket without a name.
//
// Function: Finalizing.Reconcile
func TestAnObjectThatCannotBeReadIsAnError(t *testing.T) {
	withBuckets(t, func(b *buckets, f *mini.Finalizing[*corev1.ConfigMap], _ func()) {
		f.Client = mini.NewCachedClient(mini.NewCache(b.Cluster)) // it never has its first list
		ctx, cancel := context.WithTimeout(b.ctx, time.Second)
		defer cancel()
		_, err := f.Reconcile(ctx, x)
		require.ErrorIs(b, err, context.DeadlineExceeded, "the error of the read is returned")
		require.Empty(b, b.made)
	})
}

// A process that dies between the two would leave a bucket that nobody deletes.
//
// Function: Finalizing.Reconcile
func TestTheFinalizerIsStoredBeforeAnythingOutsideIsMade(t *testing.T) {
	withBuckets(t, func(b *buckets, f *mini.Finalizing[*corev1.ConfigMap], _ func()) {
		b.create(theirs)
		result, err := f.Reconcile(b.ctx, x)
		require.NoError(b, err)
		require.Equal(b, time.Hour, result.RequeueAfter, "the result is the one of Next")
		require.Equal(b, []string{theirs, ours}, b.get("x").Finalizers)
		require.Equal(b, 1, b.made["x"], "Next is called in the same reconcile")
		version := b.get("x").ResourceVersion
		_, err = f.Reconcile(b.ctx, x)
		require.NoError(b, err)
		require.Equal(b, 2, b.made["x"], "Next is called in each reconcile")
		require.Equal(b, version, b.get("x").ResourceVersion, "there was nothing to write")
		require.Empty(b, b.cleanups, "the object is not being deleted")
	})
}

// Without the finalizer, the deletion of the object would not wait for the bucket's.
//
// Function: Finalizing.Reconcile
func TestNothingIsMadeIfTheFinalizerCannotBeStored(t *testing.T) {
	withBuckets(t, func(b *buckets, f *mini.Finalizing[*corev1.ConfigMap], _ func()) {
		b.create()
		b.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "patch"}, Status: fakeapi.Forbidden(), Times: 1})
		b.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "update"}, Status: fakeapi.Forbidden(), Times: 1})
		_, err := f.Reconcile(b.ctx, x)
		require.True(b, apierrors.IsForbidden(err), "the error of the write is returned: %v", err)
		require.Empty(b, b.made, "the finalizer isn't stored, but a bucket was made")
	})
}

// A finalizer that nobody removes blocks the deletion forever.
//
// Function: Finalizing.Reconcile
func TestADeletedObjectIsCleanedUpBeforeItDisappears(t *testing.T) {
	withBuckets(t, func(b *buckets, f *mini.Finalizing[*corev1.ConfigMap], run func()) {
		run()
		b.create()
		require.NotZero(b, b.made["x"])
		b.delete()
		require.NotZero(b, b.cleanups["x"], "the bucket was not deleted")
		require.Empty(b, b.made)
		require.Nil(b, b.get("x"), "the finalizer blocks the deletion forever")
	})
}

// Another process may hold the object for hours. By then it's no longer ours.
//
// Function: Finalizing.Reconcile
func TestAnObjectWithoutOurFinalizerIsNotCleanedUp(t *testing.T) {
	withBuckets(t, func(b *buckets, f *mini.Finalizing[*corev1.ConfigMap], _ func()) {
		b.create(theirs)
		b.delete()
		_, err := f.Reconcile(b.ctx, x)
		require.NoError(b, err)
		require.Empty(b, b.cleanups, "there is nothing of ours to clean up")
		require.Empty(b, b.made, "a new bucket for an object that is being deleted")
		require.Equal(b, []string{theirs}, b.get("x").Finalizers)
	})
}

// Each finalizer is removed by the process that has added it.
func TestFinalizersOfOtherProcessesStay(t *testing.T) {
	withBuckets(t, func(b *buckets, f *mini.Finalizing[*corev1.ConfigMap], run func()) {
		run()
		b.create(theirs)
		b.delete()
		require.NotZero(b, b.cleanups["x"])
		require.Equal(b, []string{theirs}, b.get("x").Finalizers, "only ours is removed")
		calls := b.cleanups["x"]
		b.patch(`{"metadata":{"labels":{"a":"b"}}}`)
		synctest.Wait()
		require.Equal(b, calls, b.cleanups["x"], "it was cleaned up already")
	})
}

// Once the object is deleted, nobody remembers what exists outside.
//
// Function: Finalizing.Reconcile
func TestAFailedCleanUpIsTriedAgainAndTheObjectStays(t *testing.T) {
	withBuckets(t, func(b *buckets, f *mini.Finalizing[*corev1.ConfigMap], run func()) {
		b.create(ours)
		b.err = errors.New("the bucket is not empty")
		b.delete()
		_, err := f.Reconcile(b.ctx, x)
		require.ErrorIs(b, err, b.err, "only an error makes the controller try again")
		run()
		time.Sleep(10 * time.Second)
		b.mu.Lock()
		require.Greater(b, b.cleanups["x"], 3, "the clean-up is not tried again")
		require.True(b, mini.ContainsFinalizer(b.get("x"), ours), "the bucket is forgotten")
		b.err = nil
		b.mu.Unlock()
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Nil(b, b.get("x"))
		require.Empty(b, b.made)
	})
}

// The process may die after the clean-up, or the API server may refuse the write.
//
// Function: Finalizing.Reconcile
func TestAFinalizerThatCannotBeRemovedLeadsToAnotherCleanUp(t *testing.T) {
	withBuckets(t, func(b *buckets, f *mini.Finalizing[*corev1.ConfigMap], run func()) {
		b.create(ours)
		b.delete()
		for _, verb := range []string{"patch", "update"} {
			b.Server.Inject(fakeapi.Fault{
				Match: fakeapi.Match{Verb: verb}, Status: fakeapi.Forbidden(), Times: 1,
			})
		}
		_, err := f.Reconcile(b.ctx, x)
		require.Error(b, err, "the finalizer is still there: the controller has to try again")
		_, err = f.Reconcile(b.ctx, x)
		require.NoError(b, err)
		require.Equal(b, 2, b.cleanups["x"])
		require.Nil(b, b.get("x"), "the second pass removes the finalizer")
	})
}

// Another process adds its own finalizer between our read and our write. If our list
// replaces its list, what it makes outside is never deleted.
//
// Function: Finalizing.write
func TestAChangeOfAnotherProcessAtTheSameMomentIsNotOverwritten(t *testing.T) {
	withBuckets(t, func(b *buckets, f *mini.Finalizing[*corev1.ConfigMap], run func()) {
		b.create()
		for _, verb := range []string{"patch", "update"} {
			b.Server.Inject(fakeapi.Fault{
				Match: fakeapi.Match{Verb: verb, UserAgent: "buckets"}, Delay: time.Second, Times: 1,
			})
		}
		var err error
		var reconcile sync.WaitGroup
		reconcile.Go(func() { _, err = f.Reconcile(b.ctx, x) })
		time.Sleep(500 * time.Millisecond)
		b.patch(`{"metadata":{"finalizers":["` + theirs + `"],"labels":{"a":"b"}}}`)
		reconcile.Wait()
		require.True(b, apierrors.IsConflict(err), "the write starts from an old version: %v", err)
		require.Equal(b, []string{theirs}, b.get("x").Finalizers, "another process has lost its finalizer")
		require.Equal(b, "b", b.get("x").Labels["a"], "another process has lost its label")
		require.Empty(b, b.made, "the finalizer isn't stored, but a bucket was made")
		_, err = f.Reconcile(b.ctx, x)
		require.NoError(b, err)
		require.Equal(b, []string{theirs, ours}, b.get("x").Finalizers)
	})
}

// While we clean up, a user gives the object another value: another bucket. The one that we've deleted is that of the old value, so
// the finalizer has to stay until the next clean-up has seen the new one.
//
// Function: Finalizing.Reconcile
func TestAnObjectThatChangesDuringItsCleanUpIsCleanedUpAgain(t *testing.T) {
	withBuckets(t, func(b *buckets, f *mini.Finalizing[*corev1.ConfigMap], _ func()) {
		b.create(ours)
		b.delete()
		b.during = func() { b.patch(`{"data":{"bucket":"another"}}`) }
		_, err := f.Reconcile(b.ctx, x)
		require.True(b, apierrors.IsConflict(err), "the finalizer's removal starts from an old version: %v", err)
		require.NotNil(b, b.get("x"), "it was deleted, and nobody has cleaned up for its new value")
		b.during = nil
		synctest.Wait()
		_, err = f.Reconcile(b.ctx, x)
		require.NoError(b, err)
		require.Equal(b, 2, b.cleanups["x"])
		require.Nil(b, b.get("x"))
	})
}

// A user may have removed the finalizer by hand.
//
// Function: Finalizing.Reconcile
func TestAnObjectThatDisappearsBeforeTheFinalizerIsRemovedIsNotRetriedForever(t *testing.T) {
	withBuckets(t, func(b *buckets, f *mini.Finalizing[*corev1.ConfigMap], _ func()) {
		b.create(ours)
		b.delete()
		b.during = func() { b.patch(`{"metadata":{"finalizers":null}}`) } // by hand
		_, _ = f.Reconcile(b.ctx, x)                                      // it may report that the object is gone
		synctest.Wait()
		_, err := f.Reconcile(b.ctx, x)
		require.NoError(b, err)
		require.Equal(b, 1, b.cleanups["x"])
	})
}
