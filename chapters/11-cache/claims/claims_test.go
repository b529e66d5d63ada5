package claims_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
)

// inCache runs a test with a cache of one ConfigMap, and a client that reads from it and writes to a server in
// memory.
func inCache(t *testing.T, options cache.Options, test func(t *testing.T, c client.Client, key client.ObjectKey)) {
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(fakeapi.Options{})
		defer server.Close()
		objects, err := cache.New(server.Config(), options)
		require.NoError(t, err)
		c, err := client.New(server.Config(), client.Options{Cache: &client.CacheOptions{Reader: objects, EnableReadYourWritesConsistency: new(true)}})
		require.NoError(t, err)
		made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", Labels: map[string]string{"app": "shop"}}, Data: map[string]string{"k": "v"}}
		require.NoError(t, c.Create(t.Context(), made))
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- objects.Start(ctx) }()
		synctest.Wait()
		test(t, c, client.ObjectKeyFromObject(made))
		stop()
		require.NoError(t, <-ended)
	})
}

// The text says what a read without a copy may do to others.
func TestACopyIsTheReadersOwnAndALookIsNot(t *testing.T) {
	inCache(t, cache.Options{}, func(t *testing.T, c client.Client, key client.ObjectKey) {
		read, again := &corev1.ConfigMap{}, &corev1.ConfigMap{}
		require.NoError(t, c.Get(t.Context(), key, read))
		read.Data["k"] = "mine"
		require.NoError(t, c.Get(t.Context(), key, again))
		require.Equal(t, "v", again.Data["k"])

		require.NoError(t, c.Get(t.Context(), key, read, client.UnsafeDisableDeepCopy))
		read.Data["k"] = "everybody's"
		require.NoError(t, c.Get(t.Context(), key, again))
		require.Equal(t, "everybody's", again.Data["k"])
	})
}

// The answer to a question in the text.
func TestWhoTakesAnObjectOutOfTheCacheReadsThatItIsNotThere(t *testing.T) {
	shop := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{"app": "shop"})}
	inCache(t, cache.Options{ByObject: map[client.Object]cache.ByObject{&corev1.ConfigMap{}: shop}}, func(t *testing.T, c client.Client, key client.ObjectKey) {
		read := &corev1.ConfigMap{}
		require.NoError(t, c.Get(t.Context(), key, read))
		delete(read.Labels, "app")
		require.NoError(t, c.Update(t.Context(), read))
		require.True(t, apierrors.IsNotFound(c.Get(t.Context(), key, read)), "the cache had it, so the client waits for its end")
		require.True(t, apierrors.IsAlreadyExists(c.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}})),
			"it is there, though the cache does not know it")
	})
}

// inCluster runs a test with a client of a server in memory.
func inCluster(t *testing.T, test func(t *testing.T, c client.Client)) {
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(fakeapi.Options{})
		defer server.Close()
		c, err := client.New(server.Config(), client.Options{})
		require.NoError(t, err)
		test(t, c)
	})
}

func hello(finalizers ...string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "hello", Finalizers: finalizers}}
}

// The text says that a merge patch loses a finalizer that another program has added, and a lock does not.
func TestAListIsOneFieldOfAMergePatch(t *testing.T) {
	inCluster(t, func(t *testing.T, c client.Client) {
		first := hello()
		require.NoError(t, c.Create(t.Context(), first))
		second, locked := first.DeepCopy(), first.DeepCopy()
		add := func(to *corev1.ConfigMap, finalizer string, options ...client.MergeFromOption) error {
			before := to.DeepCopy()
			to.Finalizers = append(to.Finalizers, finalizer)
			return c.Patch(t.Context(), to, client.MergeFromWithOptions(before, options...))
		}
		require.NoError(t, add(first, "example.com/first"))
		require.True(t, apierrors.IsConflict(add(locked, "example.com/locked", client.MergeFromWithOptimisticLock{})))
		require.NoError(t, add(second, "example.com/second"))
		require.Equal(t, []string{"example.com/second"}, second.Finalizers)
	})
}

// The text says that an apply removes what it does not mention any more.
func TestAnApplySaysEverythingThatItsOwnerWants(t *testing.T) {
	inCluster(t, func(t *testing.T, c client.Client) {
		apply := func(data map[string]string) error {
			return c.Apply(t.Context(), coreapply.ConfigMap("hello", "default").WithData(data), client.FieldOwner("me"))
		}
		require.NoError(t, apply(map[string]string{"color": "green", "price": "3"}))
		require.NoError(t, apply(map[string]string{"color": "green"}))
		found := &corev1.ConfigMap{}
		require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(hello()), found))
		require.Equal(t, map[string]string{"color": "green"}, found.Data)
	})
}

// The text says so about the form that has only metadata.
func TestMetadataAloneCanBePatchedAndDeletedAndNotMade(t *testing.T) {
	inCluster(t, func(t *testing.T, c client.Client) {
		require.NoError(t, c.Create(t.Context(), hello()))
		partial := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}}
		require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(hello()), partial))
		require.Error(t, c.Create(t.Context(), partial.DeepCopy()))
		require.Error(t, c.Update(t.Context(), partial.DeepCopy()))
		before := partial.DeepCopy()
		partial.Labels = map[string]string{"seen": "yes"}
		require.NoError(t, c.Patch(t.Context(), partial, client.MergeFrom(before)))
		require.NoError(t, c.Delete(t.Context(), partial))
	})
}

// unregistered is an object whose Go type is in no scheme.
type unregistered struct{ corev1.ConfigMap }

// The text names three errors, of which only the last may be ignored.
func TestWhatIsNotThereHasThreeErrors(t *testing.T) {
	inCluster(t, func(t *testing.T, c client.Client) {
		key := client.ObjectKeyFromObject(hello())
		noType, kind := c.Get(t.Context(), key, &unregistered{}), &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "shop.example/v1", Kind: "Stall"}}
		noKind, noObject := c.Get(t.Context(), key, kind), c.Get(t.Context(), key, hello())
		require.True(t, runtime.IsNotRegisteredError(noType), "%v", noType)
		require.True(t, meta.IsNoMatchError(noKind), "%v", noKind)
		require.True(t, apierrors.IsNotFound(noObject), "%v", noObject)
		require.Error(t, client.IgnoreNotFound(noType))
		require.Error(t, client.IgnoreNotFound(noKind))
		require.NoError(t, client.IgnoreNotFound(noObject))
	})
}
