package informer

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/tests/inorder"
)

var (
	widgetResource = schema.GroupVersionResource{Group: "example.com", Version: "v1",
		Resource: "widgets"}
	widgetKind    = widgetResource.GroupVersion().WithKind("Widget")
	podKind       = corev1.SchemeGroupVersion.WithKind("Pod")
	configMapKind = corev1.SchemeGroupVersion.WithKind("ConfigMap")
)

// onServerWithWidgets runs a test on a server with a kind that has no Go type, and
// an object of it.
func onServerWithWidgets(t *testing.T, test func(t *testing.T, server *fakeapi.Server)) {
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(fakeapi.Options{Kinds: []fakeapi.Kind{{Group: "example.com", Version: "v1",
			Kind: "Widget"}}})
		defer server.Close()
		createWidget(t, server.Config(), "default", "first")
		test(t, server)
	})
}

func createWidget(t *testing.T, config *rest.Config, namespace, name string) {
	t.Helper()
	client, err := dynamic.NewForConfig(config)
	require.NoError(t, err)
	widget := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": name}, "spec": map[string]any{"size": int64(3),
			"parts": []any{"a", "b"}},
	}}
	widget.SetGroupVersionKind(widgetKind)
	_, err = client.Resource(widgetResource).Namespace(namespace).Create(t.Context(), widget,
		metav1.CreateOptions{})
	require.NoError(t, err)
}

// first lists a collection, watches it from its beginning, and returns the first
// object of each.
func first[T Object](
	t *testing.T, config *rest.Config, resource schema.GroupVersionResource,
	options ListWatchOptions) (listed, watched T,
) {
	t.Helper()
	listWatch, err := NewListWatch[T](config, resource, options)
	require.NoError(t, err)
	list, err := listWatch.List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, list.Items, 1)
	require.NotEmpty(t, list.ResourceVersion)
	watching, err := listWatch.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "0"})
	require.NoError(t, err)
	defer func() { _ = watching.Close() }()
	event, err := watching.Next()
	require.NoError(t, err)
	require.Equal(t, watch.Added, event.Type)
	return list.Items[0], event.Object
}

// An object that is written back must be whole, and say what it is.
func TestUnstructuredObjectsAreWholeAndKeepTheirKind(t *testing.T) {
	onServerWithWidgets(t, func(t *testing.T, server *fakeapi.Server) {
		client, err := dynamic.NewForConfig(server.Config())
		require.NoError(t, err)
		for _, kind := range []schema.GroupVersionKind{{}, widgetKind} {
			listed, watched := first[*unstructured.Unstructured](t, server.Config(), widgetResource,
				ListWatchOptions{Kind: kind})
			want, err := client.Resource(widgetResource).Namespace("default").Get(t.Context(), "first",
				metav1.GetOptions{})
			require.NoError(t, err)
			require.Equal(t, want, listed)
			require.Equal(t, want, watched)
		}
	})
}

// Items of built-in lists do not say what they are: the list does.
func TestUnstructuredItemsTakeTheirKindFromTheList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(fakeapi.Options{})
		defer server.Close()
		newWorld(t, server.Config(), "default").create(t, "apple", nil)
		for _, kind := range []schema.GroupVersionKind{{}, configMapKind} {
			listed, watched := first[*unstructured.Unstructured](t, server.Config(), configMapResource,
				ListWatchOptions{Namespace: "default", LabelSelector: "test", Kind: kind})
			require.Equal(t, configMapKind, listed.GroupVersionKind())
			require.Equal(t, watched, listed)
		}
	})
	// A list may name its kind after its items.
	text := `{"items":[{"metadata":{"name":"a"}}],"apiVersion":"v1","kind":"PodList"}`
	list, err := reads[*unstructured.Unstructured](t, answers{jsonType, strings.NewReader(text)},
		podResource).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Equal(t, podKind, list.Items[0].GroupVersionKind())
}

// A number that becomes a float64 is written back as another number.
func TestUnstructuredNumbersStayWhole(t *testing.T) {
	text := `{"kind":"WidgetList","apiVersion":"example.com/v1","items":[{"kind":"Widget","apiVersion":"example.com/v1","n":9007199254740993,"f":0.5}]}`
	list, err := reads[*unstructured.Unstructured](t, answers{jsonType, strings.NewReader(text)},
		widgetResource).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Equal(t, int64(9007199254740993), list.Items[0].Object["n"])
	require.Equal(t, 0.5, list.Items[0].Object["f"])
}

// A reader of the metadata of Widgets gets objects that call themselves Widgets. They
// come in protobuf, which Widgets do not have, and without their content.
func TestMetadataOnlyObjectsHaveTheKindThatWasAskedFor(t *testing.T) {
	onServerWithWidgets(t, func(t *testing.T, server *fakeapi.Server) {
		for _, asJSON := range []bool{false, true} {
			for _, kind := range []struct{ asked, want schema.GroupVersionKind }{{widgetKind, widgetKind},
				{want: metadataKind}} {
				listed, watched := first[*metav1.PartialObjectMetadata](t, server.Config(), widgetResource,
					ListWatchOptions{Kind: kind.asked, JSON: asJSON})
				require.Equal(t, kind.want, listed.GroupVersionKind())
				require.Equal(t, "first", listed.Name)
				require.Equal(t, listed, watched)
			}
		}
	})
}

func TestTheServerLeavesOutWhatMetadataReadersDoNotWant(t *testing.T) {
	for _, test := range []struct {
		options     ListWatchOptions
		list, watch string
	}{
		{ListWatchOptions{}, "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json",
			"application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"},
		{ListWatchOptions{JSON: true},
			"application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json",
			"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"},
	} {
		listWatch, err := NewListWatch[*metav1.PartialObjectMetadata](&rest.Config{Host: "http://nobody"}, podResource, test.options)
		require.NoError(t, err)
		require.Equal(t, test.list, listWatch.client.listTypes)
		require.Equal(t, test.watch, listWatch.client.watchTypes)
	}
}

// An aggregated API server may not know the form. The reader gets its metadata
// all the same, and holds nothing else.
func TestMetadataIsTakenOutOfWholeObjectsIfTheServerSendsThem(t *testing.T) {
	text := `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"a"},"spec":{"nodeName":"n"}}]}`
	list, err := reads[*metav1.PartialObjectMetadata](t, answers{jsonType, strings.NewReader(text)},
		podResource).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Equal(t, "a", list.Items[0].Name)
	text = `{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"b"},"spec":{"nodeName":"n"}}}`
	watching, err := reads[*metav1.PartialObjectMetadata](t, answers{jsonType,
		strings.NewReader(text)}, podResource).Watch(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	event, err := watching.Next()
	require.NoError(t, err)
	require.Equal(t, "b", event.Object.Name)
}

// encodedMetadata is what a server sends in protobuf.
func encodedMetadata(t testing.TB, object runtime.Object) []byte {
	t.Helper()
	names := runtime.NewScheme()
	require.NoError(t, metav1.AddMetaToScheme(names))
	return encodedIn(t, names, protobufType, metav1.SchemeGroupVersion, object)
}

// The decoders must be those that typed objects have: a metadata list in protobuf
// arrives item by item, and its watch does too.
func TestMetadataInProtobufTakesTheFastDecoders(t *testing.T) {
	object := metav1.PartialObjectMetadata{ObjectMeta: benchmarkPod(1).ObjectMeta}
	body := encodedMetadata(t, &metav1.PartialObjectMetadataList{
		ListMeta: metav1.ListMeta{ResourceVersion: "7", Continue: "more"},
		Items:    []metav1.PartialObjectMetadata{object, object}})
	pods, err := NewListWatch[Object](&rest.Config{Host: "http://prepared",
		Transport: prepared{protobufType, body}}, podResource,
		ListWatchOptions{Form: FormMetadata, Kind: podKind})
	require.NoError(t, err)
	opened, mediaType, err := pods.client.get(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	list, fast, err := pods.decodeList(opened, mediaType)
	require.NoError(t, err)
	require.True(t, fast)
	require.Equal(t, "7", list.ResourceVersion)
	require.Equal(t, "more", list.Continue)
	require.Len(t, list.Items, 2)
	require.Equal(t, object.Name, list.Items[1].GetName())

	framed, err := (&metav1.WatchEvent{Type: "ADDED",
		Object: runtime.RawExtension{Raw: encodedMetadata(t, &object)}}).Marshal()
	require.NoError(t, err)
	stream := append(binary.BigEndian.AppendUint32(nil, uint32(len(framed))), framed...)
	decoder, err := pods.newEventDecoder(io.NopCloser(bytes.NewReader(stream)),
		protobufType+";stream=watch")
	require.NoError(t, err)
	_, decoded, err := decoder.Decode()
	require.NoError(t, err)
	require.Equal(t, podKind, decoded.GetObjectKind().GroupVersionKind())
	require.Equal(t, object.ObjectMeta.Name, decoded.(*metav1.PartialObjectMetadata).Name)
}

// A cache holds informers of many kinds under one Go type.
func TestACollectionOfAnInterfaceHoldsWhatItsKindSays(t *testing.T) {
	onServerWithWidgets(t, func(t *testing.T, server *fakeapi.Server) {
		made := newWorld(t, server.Config(), "default").create(t, "apple", nil)
		options := ListWatchOptions{Namespace: "default", LabelSelector: "test", Kind: configMapKind}
		listed, watched := first[Object](t, server.Config(), configMapResource, options)
		require.Equal(t, made, listed)
		require.Equal(t, made, watched)

		options.Form = FormMetadata
		listed, _ = first[Object](t, server.Config(), configMapResource, options)
		require.Equal(t, configMapKind, listed.(*metav1.PartialObjectMetadata).GroupVersionKind())

		listed, _ = first[Object](t, server.Config(), widgetResource,
			ListWatchOptions{Form: FormUnstructured})
		require.Equal(t, int64(3), listed.(*unstructured.Unstructured).Object["spec"].(map[string]any)["size"])
	})
}

func TestACollectionThatCannotMakeItsObjectsIsRefusedAtOnce(t *testing.T) {
	refused := func(err error, want ...string) {
		t.Helper()
		for _, part := range append(want, "making a ListWatch for pods") {
			require.ErrorContains(t, err, part)
		}
	}
	config := &rest.Config{Host: "http://nobody"}
	_, err := NewListWatch[Object](config, podResource, ListWatchOptions{})
	refused(err, "informer.Object is an interface", "set Kind")
	_, err = NewListWatch[Object](config, podResource, ListWatchOptions{Kind: widgetKind})
	refused(err, "no Go type for example.com/v1, Kind=Widget", "AddToScheme", "FormUnstructured")
	_, err = NewListWatch[*corev1.Pod](config, podResource, ListWatchOptions{Form: FormMetadata})
	refused(err, "*v1.Pod is typed", "cannot hold metadata-only objects")
	_, err = NewListWatch[*corev1.Pod](config, podResource, ListWatchOptions{Kind: configMapKind})
	refused(err, "a *v1.Pod is a /v1, Kind=Pod and not a /v1, Kind=ConfigMap")
	type scaled interface {
		Object
		GetScale() int
	}
	_, err = NewListWatch[scaled](config, podResource, ListWatchOptions{Kind: podKind})
	refused(err, "*v1.Pod, which is not a informer.scaled")
}

// A list of something else decodes without an error, into objects of no use.
func TestAnotherKindIsRefusedInEveryForm(t *testing.T) {
	for _, form := range []Form{FormUnstructured, FormMetadata} {
		for name, text := range inorder.Map(map[string]string{
			"another list":    `{"kind":"GadgetList","apiVersion":"example.com/v1","items":[]}`,
			"another group":   `{"kind":"WidgetList","apiVersion":"example.org/v1","items":[]}`,
			"another item":    `{"kind":"WidgetList","apiVersion":"example.com/v1","items":[{"kind":"Gadget","apiVersion":"example.com/v1"}]}`,
			"a refusal":       `{"kind":"Status","apiVersion":"v1","status":"Failure"}`,
			"nothing at all":  `{"kind":"WidgetList","apiVersion":"example.com/v1","items":[null]}`,
			"not even a list": `{"kind":"Widget","apiVersion":"example.com/v1"}`,
		}) {
			if form == FormMetadata && name == "nothing at all" {
				continue // null is an empty object for a Go type
			}
			if name == "another list" { // a definition may call its list so; its items say what they are
				text = strings.Replace(text, "[]", `[{"kind":"Gadget","apiVersion":"example.com/v1"}]`, 1)
			}
			listWatch, err := NewListWatch[Object](&rest.Config{Host: "http://prepared",
				Transport: prepared{jsonType, []byte(text)}}, widgetResource,
				ListWatchOptions{Form: form, Kind: widgetKind})
			require.NoError(t, err)
			_, err = listWatch.List(t.Context(), metav1.ListOptions{})
			require.Error(t, err, "%s, %s", form, name)
		}
		for name, object := range inorder.Map(map[string]string{
			"another kind":  `{"kind":"Gadget","apiVersion":"example.com/v1"}`,
			"another group": `{"kind":"Widget","apiVersion":"example.org/v1"}`,
			"a refusal":     `{"kind":"Status","apiVersion":"v1","status":"Failure"}`,
			"no kind":       `{"metadata":{"name":"a"}}`,
		}) {
			event := fmt.Sprintf(`{"type":"ADDED","object":%s}`, object)
			listWatch, err := NewListWatch[Object](&rest.Config{Host: "http://prepared",
				Transport: prepared{jsonType, []byte(event)}}, widgetResource,
				ListWatchOptions{Form: form, Kind: widgetKind})
			require.NoError(t, err)
			watching, err := listWatch.Watch(t.Context(), metav1.ListOptions{})
			require.NoError(t, err)
			_, err = watching.Next()
			require.ErrorContains(t, err, "the server sent a", "%s, %s", form, name)
		}
	}
}

// Where the caller does not say which kind to expect, every kind of the resource's
// version will do. A Status of v1 is what a server answers with, and never an object: in
// a store it would be one without a name.
func TestAStatusIsNoObjectEvenIfTheKindIsNotKnown(t *testing.T) {
	for _, form := range []Form{FormUnstructured, FormMetadata} {
		for _, status := range []string{`{"kind":"Status","apiVersion":"v1","status":"Failure"}`,
			`{"kind":"Status","status":"Failure"}`} {
			for name, text := range inorder.Map(map[string]string{
				"event": fmt.Sprintf(`{"type":"ADDED","object":%s}`, status),
				"item":  fmt.Sprintf(`{"kind":"PodList","apiVersion":"v1","items":[%s]}`, status),
			}) {
				listWatch, err := NewListWatch[Object](&rest.Config{Host: "http://prepared",
					Transport: prepared{jsonType, []byte(text)}}, podResource, ListWatchOptions{Form: form})
				require.NoError(t, err)
				if name == "item" {
					_, err = listWatch.List(t.Context(), metav1.ListOptions{})
				} else {
					var watching Watch[Object]
					watching, err = listWatch.Watch(t.Context(), metav1.ListOptions{})
					require.NoError(t, err)
					_, err = watching.Next()
				}
				require.ErrorContains(t, err, "the server sent a *v1.Status", "%s, %s %s", form, name, status)
			}
		}
	}
}

// Objects without a Go type need no scheme; but what the server says about itself is
// a Status, whatever the scheme knows.
func TestAServersErrorsAreUnderstoodWithAnEmptyScheme(t *testing.T) {
	options := ListWatchOptions{Form: FormUnstructured, Scheme: runtime.NewScheme()}
	text := `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}}`
	listWatch, err := NewListWatch[Object](&rest.Config{Host: "http://prepared",
		Transport: prepared{jsonType, []byte(text)}}, widgetResource, options)
	require.NoError(t, err)
	watching, err := listWatch.Watch(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	event, err := watching.Next()
	require.NoError(t, err)
	require.True(t, isExpired(event.Err()))
	onServerWithWidgets(t, func(t *testing.T, server *fakeapi.Server) {
		listWatch, err := NewListWatch[Object](server.Config(), widgetResource, options)
		require.NoError(t, err)
		_, err = listWatch.List(t.Context(), metav1.ListOptions{ResourceVersion: "999999",
			ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan})
		require.True(t, apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge),
			"the cause is in the Status that came with the refusal: %v", err)
	})
}

// An unstructured object that is written back without its apiVersion or kind, or with another's, is
// refused by the server, or becomes another object.
func TestAnUnstructuredItemLacksNeitherVersionNorKind(t *testing.T) {
	gadget := widgetKind.GroupVersion().WithKind("Gadget")
	for _, c := range []struct {
		name, list, item string
		asked, want      schema.GroupVersionKind
	}{
		{"it says both", "WidgetList", `{"apiVersion":"example.com/v1","kind":"Gadget"}`,
			schema.GroupVersionKind{}, gadget},
		{"it says its kind", "WidgetList", `{"kind":"Widget"}`, schema.GroupVersionKind{}, widgetKind},
		{"it says its version", "WidgetList", `{"apiVersion":"example.com/v1"}`,
			schema.GroupVersionKind{}, widgetKind},
		{"it says nothing", "WidgetList", `{"spec":{}}`, schema.GroupVersionKind{}, widgetKind},
		{"it says nothing, and the list has a name of its own", "AllWidgets", `{"spec":{}}`, widgetKind,
			widgetKind},
	} {
		text := `{"kind":"` + c.list + `","apiVersion":"example.com/v1","items":[` + c.item + `]}`
		listWatch, err := NewListWatch[*unstructured.Unstructured](&rest.Config{Host: "http://prepared",
			Transport: answers{jsonType, strings.NewReader(text)}},
			widgetResource, ListWatchOptions{Kind: c.asked})
		require.NoError(t, err)
		list, err := listWatch.List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err, c.name)
		require.Equal(t, c.want, list.Items[0].GroupVersionKind(), c.name)
	}
}

// As from client-go: whoever compares objects of a list with those of a watch must find no
// difference.
func TestTypedObjectsDoNotSayWhatTheyAre(t *testing.T) {
	text := `{"kind":"PodList","apiVersion":"v1","items":[{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}}]}`
	list, err := reads[*corev1.Pod](t, answers{jsonType, strings.NewReader(text)},
		podResource).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	want := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	require.Equal(t, want, list.Items[0])
	text = `{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}}}`
	watching, err := reads[*corev1.Pod](t, answers{jsonType, strings.NewReader(text)},
		podResource).Watch(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	event, err := watching.Next()
	require.NoError(t, err)
	require.Equal(t, want, event.Object)
}

// The form of a list and that of an event have different names, and a server that is asked for the
// wrong one refuses.
func TestMetadataIsAskedForByTheNameOfTheAnswer(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter,
		r *http.Request) {
		asked = append(asked, r.Header.Get("Accept"))
	}))
	defer server.Close()
	pods, err := NewListWatch[*metav1.PartialObjectMetadata](&rest.Config{Host: server.URL},
		podResource, ListWatchOptions{JSON: true})
	require.NoError(t, err)
	_, _ = pods.List(t.Context(), metav1.ListOptions{})
	_, _ = pods.Watch(t.Context(), metav1.ListOptions{})
	require.Equal(t, []string{
		"application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json",
		"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json",
	}, asked)
}

// A program's own types are in its own scheme, and nowhere else.
func TestTypedObjectsAreDecodedWithTheSchemeOfTheCaller(t *testing.T) {
	own := runtime.NewScheme()
	own.AddKnownTypeWithName(widgetKind, &corev1.ConfigMap{})
	own.AddKnownTypeWithName(widgetKind.GroupVersion().WithKind("WidgetList"), &corev1.ConfigMapList{})
	for _, mediaType := range []string{jsonType, runtime.ContentTypeYAML} {
		text := `{"kind":"WidgetList","apiVersion":"example.com/v1","items":[{"metadata":{"name":"a"}}]}`
		widgets, err := NewListWatch[*corev1.ConfigMap](&rest.Config{Host: "http://prepared",
			Transport: answers{mediaType, strings.NewReader(text)}}, widgetResource,
			ListWatchOptions{Scheme: own})
		require.NoError(t, err)
		list, err := widgets.List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err, mediaType)
		require.Equal(t, []string{"a"}, namesOf(list.Items), mediaType)
	}
}

// One Go type may have two names. They must not be mixed: there is no Widget in v2.
func TestANameIsAKindAndItsVersion(t *testing.T) {
	own := runtime.NewScheme()
	own.AddKnownTypeWithName(widgetKind, &corev1.ConfigMap{})
	own.AddKnownTypeWithName(schema.GroupVersionKind{Group: "example.com", Version: "v2",
		Kind: "Gadget"}, &corev1.ConfigMap{})
	text := `{"kind":"WidgetList","apiVersion":"example.com/v2","items":[]}`
	widgets, err := NewListWatch[*corev1.ConfigMap](&rest.Config{Host: "http://prepared",
		Transport: answers{jsonType, strings.NewReader(text)}}, widgetResource,
		ListWatchOptions{Scheme: own, Kind: widgetKind})
	require.NoError(t, err)
	_, err = widgets.List(t.Context(), metav1.ListOptions{})
	require.ErrorContains(t, err, "the server sent a example.com/v2 Widget")
}

func TestAFormThatTheGoTypeHasMayBeNamed(t *testing.T) {
	config := &rest.Config{Host: "http://nobody"}
	_, err := NewListWatch[*corev1.Pod](config, podResource, ListWatchOptions{Form: FormTyped})
	require.NoError(t, err)
	_, err = NewListWatch[*unstructured.Unstructured](config, podResource,
		ListWatchOptions{Form: FormUnstructured})
	require.NoError(t, err)
	_, err = NewListWatch[*metav1.PartialObjectMetadata](config, podResource,
		ListWatchOptions{Form: FormMetadata})
	require.NoError(t, err)
	_, err = NewListWatch[*unstructured.Unstructured](config, podResource,
		ListWatchOptions{Form: FormTyped})
	require.ErrorContains(t, err, "a *unstructured.Unstructured is unstructured and cannot hold "+
		"typed objects")
}

// podValue has all methods of an object and is no pointer: nothing can be decoded into it.
type podValue struct{ *corev1.Pod }

func TestAGoTypeThatCannotBeDecodedIntoIsRefusedAtOnce(t *testing.T) {
	_, err := NewListWatch[podValue](&rest.Config{Host: "http://nobody"}, podResource,
		ListWatchOptions{})
	require.ErrorContains(t, err, "informer.podValue is not a pointer to an API type")
}

func TestAnUnstructuredItemThatIsNoJSONIsShownWithItsMistake(t *testing.T) {
	text := `{"kind":"WidgetList","apiVersion":"example.com/v1","items":[{"spec":tru}]}`
	_, err := reads[*unstructured.Unstructured](t, answers{jsonType, strings.NewReader(text)},
		widgetResource).List(t.Context(), metav1.ListOptions{})
	require.ErrorContains(t, err, "invalid character")
}

// The error is all that somebody has who reads a resource with the wrong Go type.
func TestARefusedKindIsNamedAndSoIsWhatWasAskedFor(t *testing.T) {
	widgets := func(kind schema.GroupVersionKind) func(text string) error {
		return func(text string) error {
			listWatch, err := NewListWatch[*unstructured.Unstructured](&rest.Config{Host: "http://prepared",
				Transport: answers{jsonType, strings.NewReader(text)}}, widgetResource,
				ListWatchOptions{Kind: kind})
			require.NoError(t, err)
			_, err = listWatch.List(t.Context(), metav1.ListOptions{})
			return err
		}
	}
	pods := func(text string) error {
		_, err := reads[*corev1.Pod](t, answers{jsonType, strings.NewReader(text)},
			podResource).List(t.Context(), metav1.ListOptions{})
		return err
	}
	for _, c := range []struct {
		read       func(text string) error
		text, want string
	}{
		{pods, `{"kind":"GadgetList","apiVersion":"v1","items":[{"kind":"Gadget"}]}`,
			`the server sent a "Gadget" where a *v1.Pod was asked for`},
		{pods, `{"kind":"SecretList","apiVersion":"v1","items":[]}`,
			`the server sent a *v1.Secret where a *v1.Pod was asked for`},
		{pods, `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","items":[]}`,
			`where a *v1.Pod was asked for`},
		{widgets(schema.GroupVersionKind{}),
			`{"kind":"GadgetList","apiVersion":"example.org/v1","items":[]}`,
			`the server sent a "GadgetList" where a kind of the resource widgets was asked for`},
		{widgets(widgetKind), `{"kind":"Widget","apiVersion":"example.com/v1","items":[]}`,
			`where a Widget was asked for`},
	} {
		require.ErrorContains(t, c.read(c.text), c.want, c.text)
	}

	text := `{"type":"ADDED","object":{"metadata":{"name":"a"}}}`
	watching, err := reads[*unstructured.Unstructured](t, answers{jsonType, strings.NewReader(text)},
		widgetResource).Watch(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	_, err = watching.Next()
	require.ErrorContains(t, err, "where a kind of the resource widgets was asked for",
		"an object that does not say what it is may be anything")
}
