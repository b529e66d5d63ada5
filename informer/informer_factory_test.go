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

// factoryWorld is a factory of a server that has nothing yet.
type factoryWorld struct {
	*testing.T
	server *fakeapi.Server
	*Factory
}

func inFactory(t *testing.T, options FactoryOptions, test func(f factoryWorld)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(fakeapi.Options{})
		t.Cleanup(server.Close)
		test(factoryWorld{t, server, NewFactory(server.Config(), options)})
	})
}

// run runs the factory until the test's end.
func (f factoryWorld) run() {
	var running sync.WaitGroup
	running.Go(func() { _ = f.Factory.Run(f.Context()) })
	f.Cleanup(running.Wait)
	synctest.Wait()
}

func (f factoryWorld) configMaps(of Collection) *Informer[*corev1.ConfigMap] {
	f.Helper()
	informer, err := InformerFor[*corev1.ConfigMap](f.Factory, of)
	require.NoError(f, err)
	return informer
}

var allConfigMaps = Collection{Resource: configMapResource}

// busy is an informer with a handler that does not return.
type busy chan struct{}

func (b busy) Run(context.Context) error         { <-b; return nil }
func (b busy) WaitForSync(context.Context) error { return nil }

// makeBusy puts a busy informer in the place of the one of all ConfigMaps.
func (f factoryWorld) makeBusy() busy {
	f.configMaps(allConfigMaps)
	handler := make(busy)
	for _, m := range f.members {
		m.informer = handler
	}
	return handler
}

func TestAnInformerThatMayNotListSaysSo(t *testing.T) {
	inFactory(t, FactoryOptions{}, func(f factoryWorld) {
		f.server.Inject(fakeapi.Fault{Status: fakeapi.Forbidden()})
		f.configMaps(Collection{Resource: configMapResource, Namespace: "default"})
		f.run()
		waiting, enough := context.WithTimeoutCause(f.Context(), 10*time.Second, errors.New("10 s have passed"))
		defer enough()
		err := f.WaitForSync(waiting)
		require.ErrorContains(f, err, "configmaps in namespace default: waiting for ConfigMap: not "+
			"synced")
		require.ErrorContains(f, err, "10 s have passed")
		require.True(f, apierrors.IsForbidden(err), "%v", err)
	})
}

func TestAFactorySharesInformersAndStopsOne(t *testing.T) {
	inFactory(t, FactoryOptions{DropManagedFields: true}, func(f factoryWorld) {
		first := f.configMaps(allConfigMaps)
		require.Same(f, first, f.configMaps(allConfigMaps))
		_, err := InformerFor[*corev1.Pod](f.Factory, allConfigMaps)
		require.ErrorContains(f, err, "another Go type")
		_, err = InformerFor[Object](f.Factory, Collection{Resource: configMapResource,
			Kind: corev1.SchemeGroupVersion.WithKind("ConfigMap")})
		require.ErrorContains(f, err, "another Go type")

		f.run()
		other := f.configMaps(Collection{Resource: configMapResource, LabelSelector: "test"})
		require.NotSame(f, first, other)
		require.NoError(f, f.WaitForSync(f.Context()))
		w := newWorld(f.T, f.server.Config(), metav1.NamespaceDefault)
		w.create(f.T, "a", nil)
		w.create(f.T, "b", map[string]string{"app": "x"})
		synctest.Wait()
		require.Equal(f, 2, first.Store().Len())
		require.Equal(f, 1, other.Store().Len())
		for c := range first.Lister(configMapResource.GroupResource()).InNamespace("default").List(labels.SelectorFromSet(labels.Set{"app": "x"})) {
			require.Equal(f, "b", c.Name)
			require.Empty(f, c.ManagedFields)
		}
		require.NoError(f, f.Stop(f.Context(), allConfigMaps))
		w.create(f.T, "c", nil)
		synctest.Wait()
		require.Equal(f, 2, first.Store().Len(), "it has stopped")
		require.Equal(f, 2, other.Store().Len(), "it goes on")
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
	inFactory(t, FactoryOptions{}, func(f factoryWorld) {
		handler := add(f.T, f.configMaps(allConfigMaps), HandlerFuncs[*corev1.ConfigMap]{}, HandlerOptions{})
		waited := make(chan error, 1)
		go func() { waited <- f.WaitForSync(f.Context()) }()
		synctest.Wait()
		require.NoError(f, f.Stop(f.Context(), allConfigMaps))
		require.ErrorIs(f, <-waited, errInformerStopped)
		<-handler.Done()
	})
}

// Who is told that an informer has ended frees what its handlers use.
func TestAStopThatEndedTooEarlyCanBeRepeated(t *testing.T) {
	inFactory(t, FactoryOptions{}, func(f factoryWorld) {
		handler := f.makeBusy()
		f.run()
		for range 2 {
			patience, enough := context.WithTimeout(f.Context(), time.Second)
			require.ErrorIs(f, f.Stop(patience, allConfigMaps), context.DeadlineExceeded)
			enough()
		}
		close(handler)
		require.NoError(f, f.Stop(f.Context(), allConfigMaps))
		require.Empty(f, f.members)
	})
}

// A kind was deleted, and is installed again. Who asks for it then must not get the
// informer that gave up.
func TestAnInformerThatGaveUpIsReplacedAndReported(t *testing.T) {
	options := FactoryOptions{Reflector: ReflectorOptions{GiveUp: apierrors.IsForbidden}}
	inFactory(t, options, func(f factoryWorld) {
		lift := f.server.Inject(fakeapi.Fault{Status: fakeapi.Forbidden()})
		reported := Collection{Resource: configMapResource, Namespace: "secret"}
		first := f.configMaps(allConfigMaps)
		f.configMaps(reported)
		ctx, cancel := context.WithCancel(f.Context())
		defer cancel()
		ended := make(chan error, 1)
		go func() { ended <- f.Factory.Run(ctx) }()
		synctest.Wait()
		lift()
		second := f.configMaps(allConfigMaps)
		require.NotSame(f, first, second)
		require.NoError(f, second.WaitForSync(ctx))
		cancel()
		err := <-ended
		require.True(f, apierrors.IsForbidden(err), "%v", err)
		require.ErrorContains(f, err, "configmaps in namespace secret: ")
		require.NotContains(f, err.Error(), "configmaps: ")

		_, err = InformerFor[*corev1.ConfigMap](f.Factory, allConfigMaps)
		require.ErrorIs(f, err, errFactoryStopped, "nobody would run it")
		require.ErrorIs(f, f.Factory.Run(f.Context()), errFactoryRan)
		require.Error(f, f.Stop(f.Context(), reported))
		require.NoError(f, f.Stop(f.Context(), reported), "that was told")
	})
}

// Somebody asks for a collection while another one waits for the end of its informer. The
// new informer belongs to the factory: whoever asks next must get it, and no third.
func TestAStopDoesNotForgetTheInformerThatTookThePlace(t *testing.T) {
	inFactory(t, FactoryOptions{}, func(f factoryWorld) {
		handler := f.makeBusy()
		f.run()
		stopped := make(chan error, 1)
		go func() { stopped <- f.Stop(f.Context(), allConfigMaps) }()
		synctest.Wait()
		second := f.configMaps(allConfigMaps)
		close(handler)
		require.NoError(f, <-stopped)
		require.Same(f, second, f.configMaps(allConfigMaps))
		require.NoError(f, second.WaitForSync(f.Context()), "nobody stopped it")
	})
}

// An informer that is stopped before the factory runs is not started while it ends.
func TestRunDoesNotStartWhatStopIsEnding(t *testing.T) {
	inFactory(t, FactoryOptions{}, func(f factoryWorld) {
		handler := f.makeBusy()
		stopped := make(chan error, 1)
		go func() { stopped <- f.Stop(f.Context(), allConfigMaps) }()
		synctest.Wait()
		f.run()
		close(handler)
		require.NoError(f, <-stopped)
	})
}

// Who stops an informer at the end of a program has no time left. What has ended already is
// still reported as it ended.
func TestAStopOfWhatHasEndedNeedsNoTime(t *testing.T) {
	options := FactoryOptions{Reflector: ReflectorOptions{GiveUp: apierrors.IsForbidden}}
	inFactory(t, options, func(f factoryWorld) {
		f.server.Inject(fakeapi.Fault{Status: fakeapi.Forbidden()})
		f.run()
		over, end := context.WithCancel(f.Context())
		end()
		for range 50 { // a select would pick at random
			f.configMaps(allConfigMaps)
			synctest.Wait()
			err := f.Stop(over, allConfigMaps)
			require.True(f, apierrors.IsForbidden(err), "%v", err)
		}
	})
}

// The error names all that failed, in an order that does not change from run to run.
func TestTheFailuresOfAFactoryAreInOrder(t *testing.T) {
	inFactory(t, FactoryOptions{}, func(f factoryWorld) {
		for _, namespace := range []string{"c", "a", "d", "b"} {
			f.configMaps(Collection{Resource: configMapResource, Namespace: namespace})
		}
		over, end := context.WithCancel(f.Context())
		end()
		err := f.WaitForSync(over)
		require.ErrorIs(f, err, context.Canceled)
		var order []string
		for line := range strings.Lines(err.Error()) {
			order = append(order, strings.Split(line, ":")[0])
		}
		require.Equal(f, []string{
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
