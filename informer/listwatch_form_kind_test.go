package informer

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// An unstructured object that is written back without its apiVersion or kind, or with another's, is
// refused by the server, or becomes another object.
func TestAnUnstructuredItemLacksNeitherVersionNorKind(t *testing.T) {
	gadget := widgetKind.GroupVersion().WithKind("Gadget")
	for _, c := range []struct {
		name, list, item string
		asked, want      schema.GroupVersionKind
	}{
		{"it says both", "WidgetList", `{"apiVersion":"example.com/v1","kind":"Gadget"}`, schema.GroupVersionKind{}, gadget},
		{"it says its kind", "WidgetList", `{"kind":"Widget"}`, schema.GroupVersionKind{}, widgetKind},
		{"it says its version", "WidgetList", `{"apiVersion":"example.com/v1"}`, schema.GroupVersionKind{}, widgetKind},
		{"it says nothing", "WidgetList", `{"spec":{}}`, schema.GroupVersionKind{}, widgetKind},
		{"it says nothing, and the list has a name of its own", "AllWidgets", `{"spec":{}}`, widgetKind, widgetKind},
	} {
		text := `{"kind":"` + c.list + `","apiVersion":"example.com/v1","items":[` + c.item + `]}`
		listWatch, err := NewListWatch[*unstructured.Unstructured](&rest.Config{Host: "http://prepared", Transport: answers{jsonType, strings.NewReader(text)}},
			widgetResource, ListWatchOptions{Kind: c.asked})
		require.NoError(t, err)
		list, err := listWatch.List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err, c.name)
		require.Equal(t, c.want, list.Items[0].GroupVersionKind(), c.name)
	}
}

// As from client-go: whoever compares objects of a list with those of a watch must find no difference.
func TestTypedObjectsDoNotSayWhatTheyAre(t *testing.T) {
	text := `{"kind":"PodList","apiVersion":"v1","items":[{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}}]}`
	list, err := reads[*corev1.Pod](t, answers{jsonType, strings.NewReader(text)}, podResource).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	want := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	require.Equal(t, want, list.Items[0])
	text = `{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}}}`
	watching, err := reads[*corev1.Pod](t, answers{jsonType, strings.NewReader(text)}, podResource).Watch(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	event, err := watching.Next()
	require.NoError(t, err)
	require.Equal(t, want, event.Object)
}

// The form of a list and that of an event have different names, and a server that is asked for the wrong one refuses.
func TestMetadataIsAskedForByTheNameOfTheAnswer(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked = append(asked, r.Header.Get("Accept")) }))
	defer server.Close()
	pods, err := NewListWatch[*metav1.PartialObjectMetadata](&rest.Config{Host: server.URL}, podResource, ListWatchOptions{JSON: true})
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
		widgets, err := NewListWatch[*corev1.ConfigMap](&rest.Config{Host: "http://prepared", Transport: answers{mediaType, strings.NewReader(text)}}, widgetResource, ListWatchOptions{Scheme: own})
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
	own.AddKnownTypeWithName(schema.GroupVersionKind{Group: "example.com", Version: "v2", Kind: "Gadget"}, &corev1.ConfigMap{})
	text := `{"kind":"WidgetList","apiVersion":"example.com/v2","items":[]}`
	widgets, err := NewListWatch[*corev1.ConfigMap](&rest.Config{Host: "http://prepared", Transport: answers{jsonType, strings.NewReader(text)}}, widgetResource, ListWatchOptions{Scheme: own, Kind: widgetKind})
	require.NoError(t, err)
	_, err = widgets.List(t.Context(), metav1.ListOptions{})
	require.ErrorContains(t, err, "the server sent a example.com/v2 Widget")
}

func TestAFormThatTheGoTypeHasMayBeNamed(t *testing.T) {
	config := &rest.Config{Host: "http://nobody"}
	_, err := NewListWatch[*corev1.Pod](config, podResource, ListWatchOptions{Form: FormTyped})
	require.NoError(t, err)
	_, err = NewListWatch[*unstructured.Unstructured](config, podResource, ListWatchOptions{Form: FormUnstructured})
	require.NoError(t, err)
	_, err = NewListWatch[*metav1.PartialObjectMetadata](config, podResource, ListWatchOptions{Form: FormMetadata})
	require.NoError(t, err)
	_, err = NewListWatch[*unstructured.Unstructured](config, podResource, ListWatchOptions{Form: FormTyped})
	require.ErrorContains(t, err, "a *unstructured.Unstructured is unstructured and cannot hold typed objects")
}

// podValue has all methods of an object and is no pointer: nothing can be decoded into it.
type podValue struct{ *corev1.Pod }

func TestAGoTypeThatCannotBeDecodedIntoIsRefusedAtOnce(t *testing.T) {
	_, err := NewListWatch[podValue](&rest.Config{Host: "http://nobody"}, podResource, ListWatchOptions{})
	require.ErrorContains(t, err, "informer.podValue is not a pointer to an API type")
}

func TestAnUnstructuredItemThatIsNoJSONIsShownWithItsMistake(t *testing.T) {
	text := `{"kind":"WidgetList","apiVersion":"example.com/v1","items":[{"spec":tru}]}`
	_, err := reads[*unstructured.Unstructured](t, answers{jsonType, strings.NewReader(text)}, widgetResource).List(t.Context(), metav1.ListOptions{})
	require.ErrorContains(t, err, "invalid character")
}

// The error is all that somebody has who reads a resource with the wrong Go type.
func TestARefusedKindIsNamedAndSoIsWhatWasAskedFor(t *testing.T) {
	widgets := func(kind schema.GroupVersionKind) func(text string) error {
		return func(text string) error {
			listWatch, err := NewListWatch[*unstructured.Unstructured](&rest.Config{Host: "http://prepared", Transport: answers{jsonType, strings.NewReader(text)}}, widgetResource, ListWatchOptions{Kind: kind})
			require.NoError(t, err)
			_, err = listWatch.List(t.Context(), metav1.ListOptions{})
			return err
		}
	}
	pods := func(text string) error {
		_, err := reads[*corev1.Pod](t, answers{jsonType, strings.NewReader(text)}, podResource).List(t.Context(), metav1.ListOptions{})
		return err
	}
	for _, c := range []struct {
		read       func(text string) error
		text, want string
	}{
		{pods, `{"kind":"GadgetList","apiVersion":"v1","items":[{"kind":"Gadget"}]}`, `the server sent a "Gadget" where a *v1.Pod was asked for`},
		{pods, `{"kind":"SecretList","apiVersion":"v1","items":[]}`, `the server sent a *v1.Secret where a *v1.Pod was asked for`},
		{pods, `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","items":[]}`, `where a *v1.Pod was asked for`},
		{widgets(schema.GroupVersionKind{}), `{"kind":"GadgetList","apiVersion":"example.org/v1","items":[]}`, `the server sent a "GadgetList" where a kind of the resource widgets was asked for`},
		{widgets(widgetKind), `{"kind":"Widget","apiVersion":"example.com/v1","items":[]}`, `where a Widget was asked for`},
	} {
		require.ErrorContains(t, c.read(c.text), c.want, c.text)
	}

	text := `{"type":"ADDED","object":{"metadata":{"name":"a"}}}`
	watching, err := reads[*unstructured.Unstructured](t, answers{jsonType, strings.NewReader(text)}, widgetResource).Watch(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	_, err = watching.Next()
	require.ErrorContains(t, err, "where a kind of the resource widgets was asked for", "an object that does not say what it is may be anything")
}
