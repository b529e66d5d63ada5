package admission

import (
	"context"
	"errors"
	"math"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/manager/client"
)

// coloured gives bananas a colour.
var coloured = defaultFunc[*corev1.ConfigMap](func(
	_ context.Context, object *corev1.ConfigMap,
) error {
	if object.Data["colour"] == "" {
		if object.Data == nil {
			object.Data = map[string]string{}
		}
		object.Data["colour"] = "yellow"
	}
	return nil
})

// stored is what the API server makes of an object and an answer.
func stored(t testing.TB, object string, response *admissionv1.AdmissionResponse) string {
	t.Helper()
	if len(response.Patch) == 0 {
		return object
	}
	patch, err := jsonpatch.DecodePatch(response.Patch)
	require.NoError(t, err)
	result, err := patch.Apply([]byte(object))
	require.NoError(t, err)
	return string(result)
}

func TestADefaulterChangesAnObjectBeforeItIsStored(t *testing.T) {
	hook := WithDefaulter(builtIn, coloured)
	for _, operation := range []admissionv1.Operation{admissionv1.Create, admissionv1.Update} {
		response := ask(t, hook, true, question(t, operation, configMap("size", "10"), nil))
		require.True(t, response.Allowed)
		require.JSONEq(t, `[{"op":"add","path":"/data/colour","value":"yellow"}]`,
			string(response.Patch))
	}
}

func TestAnObjectThatNeedsNoDefaultsIsAllowedWithoutAPatch(t *testing.T) {
	response := ask(t, WithDefaulter(builtIn, coloured), true,
		question(t, admissionv1.Create, configMap("colour", "green"), nil))
	require.True(t, response.Allowed)
	require.Empty(t, response.Patch)
	require.EqualValues(t, http.StatusOK, response.Result.Code)
}

// Go writes an empty status, and empty resources for each container. A patch with nothing else is
// work for the API server.
func TestAnObjectThatNeedsNoDefaultsIsLeftInTheFormThatItCameIn(t *testing.T) {
	hook := WithDefaulter(builtIn,
		defaultFunc[*corev1.Pod](func(context.Context, *corev1.Pod) error {
			return nil
		}))
	const pod = `{"metadata":{"name":"web"},"spec":{"containers":[{"name":"web"}]}}`
	require.Empty(t, ask(t, hook, true, question(t, admissionv1.Create, pod, nil)).Patch)
}

func TestAnObjectThatADefaulterSpoilsIsAFailure(t *testing.T) {
	spoils := defaultFunc[*unstructured.Unstructured](func(
		_ context.Context, object *unstructured.Unstructured,
	) error {
		object.Object["size"] = math.NaN()
		return nil
	})
	for _, options := range [][]DefaulterOption{nil, {DefaulterRemoveUnknownOrOmitableFields}} {
		response := ask(t, WithDefaulter(builtIn, spoils, options...), true,
			question(t, admissionv1.Create, configMap(), nil))
		require.False(t, response.Allowed)
		require.EqualValues(t, http.StatusInternalServerError, response.Result.Code)
		require.Contains(t, response.Result.Message, "unsupported value: NaN")
	}
}

func TestADeletionHasNothingToFillIn(t *testing.T) {
	hook := WithDefaulter(builtIn,
		defaultFunc[*corev1.ConfigMap](func(context.Context, *corev1.ConfigMap) error {
			t.Error("the defaulter was called")
			return nil
		}))
	require.True(t, ask(t, hook, true, question(t, admissionv1.Delete, nil, configMap())).Allowed)
}

func TestADefaulterThatFailsRefusesTheRequest(t *testing.T) {
	for _, c := range []struct {
		err     error
		code    int
		message string
	}{
		{errors.New("no bananas today"), http.StatusForbidden, "no bananas today"},
		{apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, "bananas",
			errors.New("eaten")), http.StatusConflict,
			`Operation cannot be fulfilled on configmaps "bananas": eaten`},
	} {
		response := ask(t, WithDefaulter(builtIn,
			defaultFunc[*corev1.ConfigMap](func(context.Context, *corev1.ConfigMap) error {
				return c.err
			})),
			true, question(t, admissionv1.Create, configMap(), nil))
		require.False(t, response.Allowed)
		require.EqualValues(t, c.code, response.Result.Code)
		require.Equal(t, c.message, response.Result.Message)
	}
}

// A webhook is rolled out after the API it serves more often than not.
func TestADefaulterKeepsWhatItsTypeDoesNotKnow(t *testing.T) {
	const object = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"bananas","labels":{}},"data":{"size":"10"},"ripeness":{"percent":80},"immutable":null}`
	response := ask(t, WithDefaulter(builtIn, coloured), true,
		question(t, admissionv1.Create, object, nil))
	require.JSONEq(t,
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"bananas","labels":{}},"data":{"size":"10","colour":"yellow"},`+
			`"ripeness":{"percent":80},"immutable":null}`, stored(t, object, response))

	response = ask(t, WithDefaulter(builtIn, coloured, DefaulterRemoveUnknownOrOmitableFields),
		true, question(t, admissionv1.Create, object, nil))
	require.JSONEq(t,
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"bananas"},"data":{"size":"10","colour":"yellow"}}`,
		stored(t, object, response))
}

func TestWithTheOptionAnObjectThatNeedsNoDefaultsIsTidiedUp(t *testing.T) {
	const object = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"bananas"},"data":{"colour":"green"},"unknown":1}`
	response := ask(t, WithDefaulter(builtIn, coloured, DefaulterRemoveUnknownOrOmitableFields),
		true, question(t, admissionv1.Create, object, nil))
	require.JSONEq(t, `[{"op":"remove","path":"/unknown"}]`, string(response.Patch))
}

func TestADefaulterMayRemoveWhatItKnows(t *testing.T) {
	hook := WithDefaulter(builtIn,
		defaultFunc[*corev1.ConfigMap](func(_ context.Context, object *corev1.ConfigMap) error {
			delete(object.Data, "size")
			return nil
		}))
	response := ask(t, hook, true,
		question(t, admissionv1.Create,
			`{"metadata":{},"data":{"size":"10","colour":"green"},"unknown":1}`, nil))
	require.JSONEq(t, `[{"op":"remove","path":"/data/size"}]`, string(response.Patch))
}

// A sidecar goes in front of the user's containers, and the user's container keeps the field that
// only a newer API has.
func TestAContainerInFrontOfTheOthersTakesNoFieldsFromThem(t *testing.T) {
	hook := WithDefaulter(builtIn,
		defaultFunc[*corev1.Pod](func(_ context.Context, pod *corev1.Pod) error {
			pod.Spec.Containers = append([]corev1.Container{{Name: "sidecar"}}, pod.Spec.Containers...)
			return nil
		}))
	const pod = `{"metadata":{"name":"web"},"spec":{"containers":[{"name":"web","resources":{},"futureField":"mine"}]},"status":{}}`
	require.JSONEq(t,
		`{"metadata":{"name":"web"},"spec":{"containers":[{"name":"sidecar","resources":{}},`+
			`{"name":"web","resources":{},"futureField":"mine"}]},"status":{}}`,
		stored(t, pod, ask(t, hook, true, question(t, admissionv1.Create, pod, nil))))
}

func TestADefaulterOfAnyObjectGetsTheKindOfTheRequest(t *testing.T) {
	var got runtime.Object
	noting := defaultFunc[client.Object](func(_ context.Context, object client.Object) error {
		got = object
		object.SetLabels(map[string]string{"seen": "yes"})
		return nil
	})
	response := ask(t, WithDefaulter(builtIn, noting), true,
		question(t, admissionv1.Create, configMap(), nil))
	require.True(t, response.Allowed, response.Result)
	require.IsType(t, &corev1.ConfigMap{}, got)
	require.JSONEq(t, `[{"op":"add","path":"/metadata/labels","value":{"seen":"yes"}}]`,
		string(response.Patch))

	response = ask(t, WithDefaulter(runtime.NewScheme(), noting), true,
		question(t, admissionv1.Create, configMap(), nil))
	require.False(t, response.Allowed)
	require.Contains(t, response.Result.Message,
		"the webhook serves every client.Object that its scheme knows: no kind \"ConfigMap\" is "+
			"registered")
}

// A rule may send more kinds than the program was written for.
func TestADefaulterOfAnyObjectRefusesAKindThatIsNone(t *testing.T) {
	var req Request
	req.Kind.Version, req.Kind.Kind = "v1", "ConfigMapList"
	req.Object.Raw = []byte(`{}`)
	response := WithDefaulter(builtIn,
		defaultFunc[client.Object](func(context.Context, client.Object) error {
			return nil
		})).Handle(t.Context(), req)
	require.False(t, response.Allowed)
	require.EqualValues(t, http.StatusBadRequest, response.Result.Code)
	require.Equal(t,
		"the webhook serves every client.Object, and a /v1, Kind=ConfigMapList isn't one",
		response.Result.Message)
}

func TestADefaulterOfUnstructuredObjectsNeedsNoGoType(t *testing.T) {
	hook := WithDefaulter(runtime.NewScheme(),
		defaultFunc[*unstructured.Unstructured](func(
			_ context.Context, object *unstructured.Unstructured,
		) error {
			return unstructured.SetNestedField(object.Object, int64(3), "spec", "replicas")
		}))
	response := ask(t, hook, true,
		question(t, admissionv1.Create, `{"spec":{"big":9007199254740993}}`, nil))
	require.JSONEq(t, `[{"op":"add","path":"/spec/replicas","value":3}]`, string(response.Patch))

	for _, c := range []struct {
		object  any
		message string
	}{{nil, "there is no content to decode"}, {`[]`, "cannot unmarshal array"}} {
		response := ask(t, hook, true, question(t, admissionv1.Create, c.object, nil))
		require.False(t, response.Allowed)
		require.EqualValues(t, http.StatusBadRequest, response.Result.Code)
		require.Contains(t, response.Result.Message, c.message)
	}
}

func TestACustomDefaulterGetsACopyOfItsObject(t *testing.T) {
	prototype := configMap("from", "prototype")
	hook := WithCustomDefaulter(builtIn, prototype,
		defaultFunc[runtime.Object](func(ctx context.Context, object runtime.Object) error {
			return coloured(ctx, object.(*corev1.ConfigMap))
		}))
	response := ask(t, hook, true, question(t, admissionv1.Create, `{"data":{}}`, nil))
	require.True(t, response.Allowed)
	require.NotContains(t, prototype.Data, "colour")
}

func TestWhatIsNoObjectIsABadRequest(t *testing.T) {
	for _, c := range []struct {
		object  any
		message string
	}{
		{nil, "there is no content to decode"},
		{`[]`, "cannot unmarshal"},
		{`{"data":1}`, "cannot unmarshal"},
		{`{"apiVersion":"v1","kind":"Pod"}`, "unable to decode"},
	} {
		response := ask(t, WithDefaulter(builtIn, coloured), true,
			question(t, admissionv1.Create, c.object, nil))
		require.False(t, response.Allowed)
		require.EqualValues(t, http.StatusBadRequest, response.Result.Code)
		require.Contains(t, response.Result.Message, c.message)
	}
}

func TestTheDefaultsOfTheDefaultedAreNone(t *testing.T) {
	hook := WithDefaulter(builtIn, coloured)
	const object = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"bananas"},"data":{"size":"10"},"unknown":1}`
	once := stored(t, object, ask(t, hook, true, question(t, admissionv1.Create, object, nil)))
	require.Empty(t, ask(t, hook, true, question(t, admissionv1.Create, once, nil)).Patch)
}
