package conversion

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// converterFunc is a Converter.
type converterFunc func(ctx context.Context, src, dst runtime.Object) error

func (f converterFunc) ConvertObject(ctx context.Context, src, dst runtime.Object) error {
	return f(ctx, src, dst)
}

// by is a webhook for bananas, with methods and a converter.
func by(t *testing.T, known *runtime.Scheme, converter converterFunc) http.Handler {
	t.Helper()
	registry := NewRegistry()
	require.NoError(t, registry.RegisterConverter(schema.GroupKind{Group: "shop.example",
		Kind: "Banana"}, converter))
	return NewWebhookHandler(known, registry)
}

func TestAKindsConverterTakesThePlaceOfItsMethods(t *testing.T) {
	var handled context.Context
	hook := by(t, bananas(), func(ctx context.Context, src, dst runtime.Object) error {
		handled = ctx
		from, to := src.(*bananaV1), dst.(*bananaV2)
		to.ObjectMeta, to.Colour = from.ObjectMeta, "by the converter"
		return nil
	})
	objects, err := ask(t, hook, question("shop.example/v2",
		object("v1", "first", `"look":"yellow 12"`)))
	require.NoError(t, err)
	require.Equal(t, "by the converter", objects[0].Object["colour"])
	require.ErrorIs(t, handled.Err(), context.Canceled, "the context ends with the answer")
}

// The API server takes all objects or none. Half an answer is work for nobody.
func TestAfterAFailureNoObjectIsConverted(t *testing.T) {
	converted := 0
	hook := by(t, bananas(), func(_ context.Context, src, dst runtime.Object) error {
		converted++
		return src.(*bananaV1).ConvertTo(dst.(*bananaV2))
	})
	good, bad := object("v1", "good", `"look":"yellow 12"`), object("v1", "bad", `"look":"?"`)
	body, err := json.Marshal(question("shop.example/v2", good, bad, good))
	require.NoError(t, err)
	var review apiextensionsv1.ConversionReview
	require.NoError(t, json.Unmarshal(post(hook, "application/json", body).Body.Bytes(), &review))
	require.Equal(t, "Failure", review.Response.Result.Status)
	require.Contains(t, review.Response.Result.Message, "object 2 of 3")
	require.Empty(t, review.Response.ConvertedObjects)
	require.Equal(t, 2, converted)
}

// Every object of the API server has metadata, so a Go type without them is a mistake in the
// program.
func TestAVersionWithoutMetadataIsAFailure(t *testing.T) {
	known := newScheme(map[string]runtime.Object{"v1": &bananaV1{}, "v5": &bare{}})
	hook := by(t, known, func(context.Context, runtime.Object, runtime.Object) error { return nil })
	for _, c := range []struct{ from, to string }{{"v1", "v5"}, {"v5", "v1"}} {
		_, err := ask(t, hook, question("shop.example/"+c.to, object(c.from, "first", `"look":""`)))
		require.ErrorContains(t, err, "object does not implement the Object interfaces", "%s to %s",
			c.from, c.to)
	}
}

// What the API server does not pass on is in the log only.
func TestWhatGoesWrongIsLogged(t *testing.T) {
	var lines []string
	defer func(before logr.Logger) { packageLog = before }(packageLog)
	packageLog = funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})
	hook := NewWebhookHandler(bananas(), NewRegistry())
	good, err := json.Marshal(question("shop.example/v2",
		object("v1", "good", `"look":"yellow 12"`)))
	require.NoError(t, err)
	bad, err := json.Marshal(question("shop.example/v2", object("v1", "bad", `"look":"?"`)))
	require.NoError(t, err)

	post(hook, "application/json", good)
	require.Empty(t, lines, "nothing is wrong")
	post(hook, "application/json", bad)
	post(hook, "application/json", []byte("{"))
	request := httptest.NewRequest(http.MethodPost, "/convert", strings.NewReader(string(good)))
	hook.ServeHTTP(gone{httptest.NewRecorder()}, request)
	require.Len(t, lines, 3)
	require.Contains(t, lines[0],
		`"msg"="Cannot convert" "error"="object 1 of 1 (Banana shop/bad, of shop.example/v1)`)
	require.Contains(t, lines[0], `"requestID"="705ab4f5"`)
	require.Contains(t, lines[1], `"msg"="Answering a request that is no ConversionReview"`)
	require.Contains(t, lines[2],
		`"msg"="Cannot send the answer; the API server may have stopped waiting" "error"="nobody listens" "requestID"="705ab4f5"`)
}

// gone is an API server that has stopped waiting.
type gone struct{ http.ResponseWriter }

func (gone) Write([]byte) (int, error) { return 0, errors.New("nobody listens") }

func TestADecoderNeedsAScheme(t *testing.T) {
	require.PanicsWithValue(t, "conversion.NewDecoder needs a scheme: pass mgr.GetScheme()",
		func() {
			NewDecoder(nil)
		})
	banana := &bananaV1{}
	require.NoError(t, NewDecoder(bananas()).DecodeInto([]byte(object("v1", "first",
		`"look":"yellow 12"`)), banana))
	require.Equal(t, "yellow 12", banana.Look)
}

// fieldsOf are the names on the wire and the Go types, with the structs of these reviews looked
// into.
func fieldsOf(t reflect.Type) map[string]any {
	fields := map[string]any{}
	for field := range t.Fields() {
		key := field.Name
		if !field.Anonymous {
			key = field.Tag.Get("json")
		}
		fields[key] = field.Type.String()
		if field.Type.Kind() == reflect.Pointer {
			fields[key] = fieldsOf(field.Type.Elem())
		}
	}
	return fields
}

func TestReviewsHaveTheFieldsOfTheAPI(t *testing.T) {
	require.Equal(t, fieldsOf(reflect.TypeFor[apiextensionsv1.ConversionReview]()),
		fieldsOf(reflect.TypeFor[conversionReview]()))
	require.Len(t, fieldsOf(reflect.TypeFor[conversionReview]()), 3)
	require.Equal(t, apiextensionsv1.SchemeGroupVersion.String(), reviewVersion)
	require.Equal(t, apiextensionsv1.GroupName, reviewGroup)
}
