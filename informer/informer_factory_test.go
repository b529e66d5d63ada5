package informer

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/fakeapi"
)

func TestAnInformerThatMayNotListSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(fakeapi.Options{})
		defer server.Close()
		server.Inject(fakeapi.Fault{Status: fakeapi.Forbidden()})
		factory := NewFactory(server.Config(), FactoryOptions{})
		of := Collection{Resource: configMapResource, Namespace: "default"}
		_, err := InformerFor[*corev1.ConfigMap](factory, of)
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = factory.Run(ctx) })
		waiting, enough := context.WithTimeoutCause(ctx, 10*time.Second, errors.New("10 s have passed"))
		defer enough()
		err = factory.WaitForSync(waiting)
		require.ErrorContains(t, err, "configmaps in namespace default: waiting for ConfigMap: not "+
			"synced")
		require.ErrorContains(t, err, "10 s have passed")
		require.True(t, apierrors.IsForbidden(err), "%v", err)
		cancel()
		running.Wait()
	})
}

func TestAFactorySharesInformersAndStopsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(fakeapi.Options{})
		defer server.Close()
		factory := NewFactory(server.Config(), FactoryOptions{DropManagedFields: true})
		all := Collection{Resource: configMapResource}
		some := Collection{Resource: configMapResource, LabelSelector: "test"}
		first, err := InformerFor[*corev1.ConfigMap](factory, all)
		require.NoError(t, err)
		again, err := InformerFor[*corev1.ConfigMap](factory, all)
		require.NoError(t, err)
		require.Same(t, first, again)
		_, err = InformerFor[*corev1.Pod](factory, all)
		require.ErrorContains(t, err, "another Go type")
		_, err = InformerFor[Object](factory, Collection{Resource: configMapResource,
			Kind: corev1.SchemeGroupVersion.WithKind("ConfigMap")})
		require.ErrorContains(t, err, "another Go type")

		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = factory.Run(ctx) })
		synctest.Wait()
		other, err := InformerFor[*corev1.ConfigMap](factory, some)
		require.NoError(t, err)
		require.NotSame(t, first, other)
		require.NoError(t, factory.WaitForSync(ctx))
		w := newWorld(t, server.Config(), metav1.NamespaceDefault)
		w.create(t, "a", nil)
		w.create(t, "b", map[string]string{"app": "x"})
		synctest.Wait()
		require.Equal(t, 2, first.Store().Len())
		require.Equal(t, 1, other.Store().Len())
		for c := range first.Lister(configMapResource.GroupResource()).InNamespace("default").List(labels.SelectorFromSet(labels.Set{"app": "x"})) {
			require.Equal(t, "b", c.Name)
			require.Empty(t, c.ManagedFields)
		}
		require.NoError(t, factory.Stop(ctx, all))
		w.create(t, "c", nil)
		synctest.Wait()
		require.Equal(t, 2, first.Store().Len(), "it has stopped")
		require.Equal(t, 2, other.Store().Len(), "it goes on")
		cancel()
		running.Wait()
	})
}

// An informer may come while Run is between its look at what there is and its wait. If nothing wakes
// Run then, the informer starts with the next one, or never.
func TestAnInformerThatComesWakesAFactoryThatDoesNotWaitYet(t *testing.T) {
	factory := NewFactory(&rest.Config{Host: "http://nobody"}, FactoryOptions{})
	_, err := InformerFor[*corev1.Pod](factory, Collection{Resource: podResource})
	require.NoError(t, err)
	require.Len(t, factory.joined, 1, "the wake-up is lost")
}

// A program that waits for an informer that will never start must not wait forever.
func TestAnInformerThatIsStoppedBeforeItsStartTellsThoseWhoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(fakeapi.Options{})
		defer server.Close()
		factory := NewFactory(server.Config(), FactoryOptions{})
		of := Collection{Resource: configMapResource}
		informer, err := InformerFor[*corev1.ConfigMap](factory, of)
		require.NoError(t, err)
		handler := add(t, informer, HandlerFuncs[*corev1.ConfigMap]{}, HandlerOptions{})
		waited := make(chan error, 1)
		go func() { waited <- factory.WaitForSync(t.Context()) }()
		synctest.Wait()
		require.NoError(t, factory.Stop(t.Context(), of))
		require.ErrorIs(t, <-waited, errInformerStopped)
		<-handler.Done()
	})
}

// busy is an informer with a handler that does not return.
type busy chan struct{}

func (b busy) Run(context.Context) error         { <-b; return nil }
func (b busy) WaitForSync(context.Context) error { return nil }

// Who is told that an informer has ended frees what its handlers use.
func TestAStopThatEndedTooEarlyCanBeRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(fakeapi.Options{})
		defer server.Close()
		factory := NewFactory(server.Config(), FactoryOptions{})
		of := Collection{Resource: configMapResource}
		_, err := InformerFor[*corev1.ConfigMap](factory, of)
		require.NoError(t, err)
		handler := make(busy)
		for _, m := range factory.members {
			m.informer = handler
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var running sync.WaitGroup
		running.Go(func() { _ = factory.Run(ctx) })
		synctest.Wait()
		for range 2 {
			patience, enough := context.WithTimeout(ctx, time.Second)
			require.ErrorIs(t, factory.Stop(patience, of), context.DeadlineExceeded)
			enough()
		}
		close(handler)
		require.NoError(t, factory.Stop(ctx, of))
		require.Empty(t, factory.members)
		cancel()
		running.Wait()
	})
}

// A kind was deleted, and is installed again. Who asks for it then must not get the
// informer that gave up.
func TestAnInformerThatGaveUpIsReplacedAndReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(fakeapi.Options{})
		defer server.Close()
		lift := server.Inject(fakeapi.Fault{Status: fakeapi.Forbidden()})
		factory := NewFactory(server.Config(),
			FactoryOptions{Reflector: ReflectorOptions{GiveUp: apierrors.IsForbidden}})
		replaced, reported := Collection{Resource: configMapResource},
			Collection{Resource: configMapResource, Namespace: "secret"}
		first, err := InformerFor[*corev1.ConfigMap](factory, replaced)
		require.NoError(t, err)
		_, err = InformerFor[*corev1.ConfigMap](factory, reported)
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		ended := make(chan error, 1)
		go func() { ended <- factory.Run(ctx) }()
		synctest.Wait()
		lift()
		second, err := InformerFor[*corev1.ConfigMap](factory, replaced)
		require.NoError(t, err)
		require.NotSame(t, first, second)
		require.NoError(t, second.WaitForSync(ctx))
		cancel()
		err = <-ended
		require.True(t, apierrors.IsForbidden(err), "%v", err)
		require.ErrorContains(t, err, "configmaps in namespace secret: ")
		require.NotContains(t, err.Error(), "configmaps: ")

		_, err = InformerFor[*corev1.ConfigMap](factory, replaced)
		require.ErrorIs(t, err, errFactoryStopped, "nobody would run it")
		require.ErrorIs(t, factory.Run(t.Context()), errFactoryRan)
		require.Error(t, factory.Stop(t.Context(), reported))
		require.NoError(t, factory.Stop(t.Context(), reported), "that was told")
	})
}

// Somebody asks for a collection while another one waits for the end of its informer. The
// new informer belongs to the factory: whoever asks next must get it, and no third.
func TestAStopDoesNotForgetTheInformerThatTookThePlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(fakeapi.Options{})
		defer server.Close()
		factory := NewFactory(server.Config(), FactoryOptions{})
		of := Collection{Resource: configMapResource}
		_, err := InformerFor[*corev1.ConfigMap](factory, of)
		require.NoError(t, err)
		handler := make(busy)
		for _, m := range factory.members {
			m.informer = handler
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var running sync.WaitGroup
		running.Go(func() { _ = factory.Run(ctx) })
		synctest.Wait()
		stopped := make(chan error, 1)
		go func() { stopped <- factory.Stop(ctx, of) }()
		synctest.Wait()
		second, err := InformerFor[*corev1.ConfigMap](factory, of)
		require.NoError(t, err)
		close(handler)
		require.NoError(t, <-stopped)
		again, err := InformerFor[*corev1.ConfigMap](factory, of)
		require.NoError(t, err)
		require.Same(t, second, again)
		require.NoError(t, second.WaitForSync(ctx), "nobody stopped it")
		cancel()
		running.Wait()
	})
}

// An informer that is stopped before the factory runs is not started while it ends.
func TestRunDoesNotStartWhatStopIsEnding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(fakeapi.Options{})
		defer server.Close()
		factory := NewFactory(server.Config(), FactoryOptions{})
		of := Collection{Resource: configMapResource}
		_, err := InformerFor[*corev1.ConfigMap](factory, of)
		require.NoError(t, err)
		handler := make(busy)
		for _, m := range factory.members {
			m.informer = handler
		}
		stopped := make(chan error, 1)
		go func() { stopped <- factory.Stop(t.Context(), of) }()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = factory.Run(ctx) })
		synctest.Wait()
		close(handler)
		require.NoError(t, <-stopped)
		cancel()
		running.Wait()
	})
}

// Who stops an informer at the end of a program has no time left. What has ended already is
// still reported as it ended.
func TestAStopOfWhatHasEndedNeedsNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(fakeapi.Options{})
		defer server.Close()
		server.Inject(fakeapi.Fault{Status: fakeapi.Forbidden()})
		factory := NewFactory(server.Config(),
			FactoryOptions{Reflector: ReflectorOptions{GiveUp: apierrors.IsForbidden}})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var running sync.WaitGroup
		running.Go(func() { _ = factory.Run(ctx) })
		over, end := context.WithCancel(t.Context())
		end()
		for range 50 { // a select would pick at random
			_, err := InformerFor[*corev1.ConfigMap](factory, Collection{Resource: configMapResource})
			require.NoError(t, err)
			synctest.Wait()
			err = factory.Stop(over, Collection{Resource: configMapResource})
			require.True(t, apierrors.IsForbidden(err), "%v", err)
		}
		cancel()
		running.Wait()
	})
}

// The error names all that failed, in an order that does not change from run to run.
func TestTheFailuresOfAFactoryAreInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(fakeapi.Options{})
		defer server.Close()
		factory := NewFactory(server.Config(), FactoryOptions{})
		for _, namespace := range []string{"c", "a", "d", "b"} {
			_, err := InformerFor[*corev1.ConfigMap](factory, Collection{Resource: configMapResource,
				Namespace: namespace})
			require.NoError(t, err)
		}
		over, end := context.WithCancel(t.Context())
		end()
		err := factory.WaitForSync(over)
		require.ErrorIs(t, err, context.Canceled)
		var order []string
		for line := range strings.Lines(err.Error()) {
			order = append(order, strings.Split(line, ":")[0])
		}
		require.Equal(t, []string{
			"configmaps in namespace a", "configmaps in namespace b", "configmaps in namespace c",
			"configmaps in namespace d",
		}, order)
	})
}

// A configuration that cannot work is reported by whoever uses it first, and names what was
// asked for.
func TestAFactoryReportsAConfigurationThatCannotWork(t *testing.T) {
	factory := NewFactory(&rest.Config{Host: "https://nobody",
		TLSClientConfig: rest.TLSClientConfig{CAData: []byte("no certificate")}}, FactoryOptions{})
	for range 2 {
		_, err := InformerFor[*corev1.Pod](factory, Collection{Resource: podResource})
		require.ErrorContains(t, err, "sharing an informer of pods: ")
	}
}

// Of an unstructured collection the kind is what the objects are called: two kinds are two
// informers. A Go type says its kind itself.
func TestAKindTellsInformersApartUnlessTheGoTypeSaysIt(t *testing.T) {
	factory := NewFactory(&rest.Config{Host: "http://nobody"}, FactoryOptions{})
	free := func(kind schema.GroupVersionKind) *Informer[*unstructured.Unstructured] {
		i, err := InformerFor[*unstructured.Unstructured](factory, Collection{Resource: widgetResource,
			Kind: kind})
		require.NoError(t, err)
		return i
	}
	require.Same(t, free(widgetKind), free(widgetKind))
	require.NotSame(t, free(widgetKind), free(widgetKind.GroupVersion().WithKind("Gadget")))
	typed := func(kind schema.GroupVersionKind) *Informer[*corev1.ConfigMap] {
		i, err := InformerFor[*corev1.ConfigMap](factory, Collection{Resource: configMapResource,
			Kind: kind})
		require.NoError(t, err)
		return i
	}
	require.Same(t, typed(configMapKind), typed(schema.GroupVersionKind{}))
}

// A factory of forty informers reports which of them may not list. The text must say
// which: of two that differ in a selector, one may work.
func TestACollectionIsCalledByAllThatTellsItFromOthers(t *testing.T) {
	deployments := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	for _, c := range []struct {
		want string
		of   Collection
	}{
		{"deployments.apps", Collection{Resource: deployments}},
		{"deployments.apps", Collection{Resource: deployments, Form: FormTyped}},
		{"unstructured deployments.apps", Collection{Resource: deployments, Form: FormUnstructured}},
		{"metadata-only deployments.apps", Collection{Resource: deployments, Form: FormMetadata}},
		{"deployments.apps in namespace shop", Collection{Resource: deployments, Namespace: "shop"}},
		{"deployments.apps with app=web", Collection{Resource: deployments, LabelSelector: "app=web"}},
		{"deployments.apps with metadata.name=a", Collection{Resource: deployments,
			FieldSelector: "metadata.name=a"}},
		{"deployments.apps in namespace shop with app=web metadata.name=a", Collection{
			Resource: deployments, Namespace: "shop", LabelSelector: "app=web",
			FieldSelector: "metadata.name=a",
		}},
	} {
		require.Equal(t, c.want, c.of.String())
	}
}

// Stop is given a collection. An informer that it means and does not stop goes on
// calling handlers, and one that it does not mean must go on.
func TestACollectionIncludesItsFormsAndNoOtherCollection(t *testing.T) {
	gadgetKind := schema.GroupVersionKind{Group: widgetKind.Group, Version: widgetKind.Version,
		Kind: "Gadget"}
	of := func(form Form, kind schema.GroupVersionKind) Collection {
		return Collection{Resource: widgetResource, Form: form, Kind: kind}
	}
	none := schema.GroupVersionKind{}
	for _, c := range []struct {
		name     string
		asked    Collection
		one      Collection
		included bool
	}{
		{"all forms", of(FormOfType, none), of(FormMetadata, widgetKind), true},
		{"a form, of any kind", of(FormUnstructured, none), of(FormUnstructured, widgetKind), true},
		{"another form", of(FormUnstructured, none), of(FormMetadata, widgetKind), false},
		{"a kind", of(FormUnstructured, widgetKind), of(FormUnstructured, widgetKind), true},
		{"another kind", of(FormUnstructured, gadgetKind), of(FormUnstructured, widgetKind), false},
		{"a kind that the Go type says", of(FormOfType, widgetKind), of(FormTyped, none), true},
		{"another namespace", Collection{Resource: widgetResource, Namespace: "shop"}, of(FormTyped,
			none), false},
	} {
		require.Equal(t, c.included, c.asked.includes(c.one), c.name)
	}
}
