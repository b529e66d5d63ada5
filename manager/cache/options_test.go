package cache_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/controller/controllertest"
)

// Some API packages have lists of pointers, and some programs have Go types for custom resources.
func TestAListOfPointersIsFilledToo(t *testing.T) {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(widgetKind, &controllertest.UnconventionalListType{})
	scheme.AddKnownTypeWithName(widgetKind.GroupVersion().WithKind("WidgetList"), &controllertest.UnconventionalListTypeList{})
	metav1.AddToGroupVersion(scheme, widgetKind.GroupVersion())
	inWorld(t, cache.Options{Scheme: scheme}, func(t *testing.T, w *world) {
		w.widget("default", "a", map[string]any{"spec": "blue"})
		w.begin()
		defer w.end()
		var copied, same controllertest.UnconventionalListTypeList
		require.NoError(t, w.List(t.Context(), &copied))
		require.NoError(t, w.List(t.Context(), &same, client.UnsafeDisableDeepCopy))
		require.Equal(t, "blue", copied.Items[0].Spec)
		require.Equal(t, "Widget", copied.Items[0].Kind)
		require.Equal(t, copied, same)
		for object, err := range cache.All(t.Context(), w.Cache, &controllertest.UnconventionalListType{}) {
			require.NoError(t, err)
			require.Same(t, same.Items[0], object)
			require.NotSame(t, copied.Items[0], object)
		}
		_, err := w.GetInformerForKind(t.Context(), configMapKind)
		require.NoError(t, err, "a kind that the scheme does not know has unstructured objects")
		require.NoError(t, w.Get(t.Context(), key("default", "a"), freeOf(widgetKind)))
		require.Error(t, w.Get(t.Context(), key("default", "a"), &corev1.ConfigMap{}), "the scheme does not know it")
	})
}

// A transform is what keeps large objects out of memory.
func TestATransformIsAppliedBeforeAnybodySeesTheObject(t *testing.T) {
	options := cache.Options{
		DefaultTransform: func(object any) (any, error) {
			object.(client.Object).SetLabels(nil)
			return object, nil
		},
		ByObject: map[client.Object]cache.ByObject{&corev1.Secret{}: {Transform: func(object any) (any, error) {
			secret := object.(*corev1.Secret)
			switch secret.Name {
			case "broken":
				return nil, errors.New("cannot be transformed")
			case "wrong":
				return &corev1.Pod{}, nil
			}
			secret.Data = nil
			return secret, nil
		}}},
	}
	inWorld(t, options, func(t *testing.T, w *world) {
		w.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", Labels: map[string]string{"color": "red"}}})
		for _, name := range []string{"a", "broken", "wrong"} {
			_, err := w.live.CoreV1().Secrets("default").Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"color": "red"}}, Data: map[string][]byte{"k": []byte("v")}}, metav1.CreateOptions{})
			require.NoError(t, err)
		}
		w.begin()
		defer w.end()
		var settings corev1.ConfigMap
		require.NoError(t, w.Get(t.Context(), key("default", "a"), &settings))
		require.Empty(t, settings.Labels)
		partial := metadataOf(configMapKind)
		require.NoError(t, w.Get(t.Context(), key("default", "a"), partial))
		require.Empty(t, partial.Labels)
		var secret corev1.Secret
		require.NoError(t, w.Get(t.Context(), key("default", "a"), &secret))
		require.Empty(t, secret.Data)
		require.NotEmpty(t, secret.Labels, "the kind has a transform of its own")
		for _, name := range []string{"broken", "wrong"} {
			require.NoError(t, w.Get(t.Context(), key("default", name), &secret))
			require.NotEmpty(t, secret.Data, "an object that is too large does less harm than one that is missing")
		}
	})
}

func TestManagedFieldsCanBeStripped(t *testing.T) {
	strip := cache.TransformStripManagedFields()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "somebody"}}}}
	left, err := strip(object)
	require.NoError(t, err)
	require.Equal(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, left)
	left, err = strip("not an object")
	require.NoError(t, err)
	require.Equal(t, "not an object", left)
}

func TestACacheMayReturnWhatItHasByDefault(t *testing.T) {
	inWorld(t, cache.Options{DefaultUnsafeDisableDeepCopy: new(true)}, func(t *testing.T, w *world) {
		w.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}, Data: map[string]string{"k": "v"}})
		w.begin()
		defer w.end()
		change := func(value string, opts ...client.GetOption) string {
			var object corev1.ConfigMap
			require.NoError(t, w.Get(t.Context(), key("default", "a"), &object, opts...))
			was := object.Data["k"]
			object.Data["k"] = value
			return was
		}
		require.Equal(t, "v", change("mine"))
		require.Equal(t, "mine", change("again", &client.GetOptions{}), "an option that says nothing about it")
		require.Equal(t, "again", change("mine"))
		require.Equal(t, "mine", change("copied", client.UnsafeDisableDeepCopyOption(false)))
		var list corev1.ConfigMapList
		require.NoError(t, w.List(t.Context(), &list))
		require.Equal(t, "mine", list.Items[0].Data["k"])
		list.Items[0].Data["k"] = "listed"
		require.NoError(t, w.List(t.Context(), &list, client.UnsafeDisableDeepCopyOption(false)))
		list.Items[0].Data["k"] = "copied"
		require.Equal(t, "listed", change("x"))
	})
}

// A test wants to know who changes what is shared.
func TestInformersCanBeMadeOtherwise(t *testing.T) {
	changed := []string{}
	options := cache.Options{NewInformer: func(from informer.ListerWatcher[client.Object], obj client.Object, options informer.InformerOptions[client.Object]) *informer.Informer[client.Object] {
		if _, ok := obj.(*corev1.ConfigMap); ok {
			options.DetectMutations = func(was, _ client.Object) { changed = append(changed, was.GetName()) }
		}
		return informer.NewInformer(from, options)
	}}
	inWorld(t, options, func(t *testing.T, w *world) {
		w.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}, Data: map[string]string{"k": "v"}})
		w.configMaps("default", "b")
		w.begin()
		var object corev1.ConfigMap
		require.NoError(t, w.Get(t.Context(), key("default", "a"), &object, client.UnsafeDisableDeepCopy))
		object.Data["k"] = "changed"
		require.NoError(t, w.Get(t.Context(), key("default", "b"), &object))
		object.Data = map[string]string{"k": "changed"}
		w.end()
		require.Equal(t, []string{"a"}, changed)
	})
}

// NewInformer changes the options of one kind, and has to see which kind it is asked for.
func TestNewInformerIsToldTheKindInEachForm(t *testing.T) {
	var made []string
	options := cache.Options{NewInformer: func(
		from informer.ListerWatcher[client.Object], obj client.Object,
		options informer.InformerOptions[client.Object],
	) *informer.Informer[client.Object] {
		made = append(made, fmt.Sprintf("%T %s", obj, obj.GetObjectKind().GroupVersionKind().Kind))
		return informer.NewInformer(from, options)
	}}
	inWorld(t, options, func(t *testing.T, w *world) {
		for _, object := range []client.Object{
			metadataOf(configMapKind), freeOf(configMapKind), &corev1.ConfigMap{},
		} {
			_, err := w.GetInformer(t.Context(), object)
			require.NoError(t, err)
		}
		require.Equal(t, []string{
			"*v1.PartialObjectMetadata ConfigMap", "*unstructured.Unstructured ConfigMap",
			"*v1.ConfigMap ",
		}, made)
	})
}

func TestTheErrorsOfAWatchCanBeHandled(t *testing.T) {
	var errs []error
	inWorld(t, cache.Options{DefaultWatchErrorHandler: func(ctx context.Context, r *clientgo.Reflector, err error) {
		clientgo.DefaultWatchErrorHandler(ctx, r, err) // many call it, too
		errs = append(errs, err)
	}}, func(t *testing.T, w *world) {
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "configmaps"}, Times: 2, Status: fakeapi.Unavailable()})
		w.begin()
		require.Empty(t, w.listed())
		synctest.Wait()
		w.end()
		require.Len(t, errs, 2)
		require.ErrorContains(t, errs[0], "currently unable")
	})
}

// A program must not fail to start because a kind of which it knows something is not installed.
func TestAKindWithSettingsMayBeInstalledLater(t *testing.T) {
	inServer(t, func(t *testing.T, server *fakeapi.Server) {
		server.Unregister(widgets)
		w := newWorld(t, server, cache.Options{ByObject: map[client.Object]cache.ByObject{freeOf(widgetKind): {Namespaces: map[string]cache.Config{"default": {}}}}})
		w.begin()
		defer w.end()
		server.Register(widgetHere)
		time.Sleep(time.Minute)
		w.widget("default", "a", nil)
		require.NoError(t, w.Get(t.Context(), key("default", "a"), freeOf(widgetKind)))
		require.Equal(t, []string{"watch in default"}, w.requests("widgets"))
	})
}

func TestACacheWithoutAConfigurationIsAnError(t *testing.T) {
	_, err := cache.New(nil, cache.Options{})
	require.ErrorContains(t, err, "a cache needs a configuration")
}

// counting counts the requests of a client.
type counting struct {
	http.RoundTripper
	requests atomic.Int32
}

// RoundTrip implements http.RoundTripper.
func (c *counting) RoundTrip(r *http.Request) (*http.Response, error) {
	c.requests.Add(1)
	return c.RoundTripper.RoundTrip(r)
}

// Whoever looks at a server's audit log wants to know who asks, and a program may have a client of its own.
func TestTheRequestsOfACacheSayWhoSendsThemAndGoThroughTheClient(t *testing.T) {
	for _, own := range []bool{false, true} {
		inServer(t, func(t *testing.T, server *fakeapi.Server) {
			config := server.Config()
			config.UserAgent = ""
			var options cache.Options
			transport := &counting{}
			if own {
				made, err := rest.HTTPClientFor(server.Config())
				require.NoError(t, err)
				transport.RoundTripper = made.Transport
				made.Transport = transport
				options.HTTPClient = made
			}
			made, err := cache.New(config, options)
			require.NoError(t, err)
			require.Empty(t, config.UserAgent, "the configuration is the caller's")
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- made.Start(ctx) }()
			synctest.Wait()
			require.NoError(t, made.List(ctx, &corev1.ConfigMapList{}))
			all := server.Requests(fakeapi.Match{})
			require.NotEmpty(t, all)
			if own {
				require.EqualValues(t, len(all), transport.requests.Load())
			} else {
				require.Equal(t, all, server.Requests(fakeapi.Match{UserAgent: rest.DefaultKubernetesUserAgent()}))
			}
			stop()
			require.NoError(t, <-ended)
		})
	}
}

func TestACacheWhoseCertificatesCannotBeReadIsAnError(t *testing.T) {
	config := &rest.Config{Host: "https://server.example", TLSClientConfig: rest.TLSClientConfig{CAFile: filepath.Join(t.TempDir(), "none")}}
	_, err := cache.New(config, cache.Options{})
	require.ErrorContains(t, err, "making the HTTP client of a cache")
}

// The client of the requests may be given, and the address wrong all the same.
func TestACacheWhoseServerHasNoAddressIsAnError(t *testing.T) {
	_, err := cache.New(&rest.Config{Host: "no address!"}, cache.Options{HTTPClient: http.DefaultClient})
	require.ErrorContains(t, err, "making the RESTMapper of a cache")
}
