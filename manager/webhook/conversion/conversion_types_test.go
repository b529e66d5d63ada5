package conversion

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// fieldsOf are the names on the wire and the Go types, with the structs of these reviews looked into.
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
	require.Equal(t, fieldsOf(reflect.TypeFor[apiextensionsv1.ConversionReview]()), fieldsOf(reflect.TypeFor[conversionReview]()))
	require.Len(t, fieldsOf(reflect.TypeFor[conversionReview]()), 3)
	require.Equal(t, apiextensionsv1.SchemeGroupVersion.String(), reviewVersion)
	require.Equal(t, apiextensionsv1.GroupName, reviewGroup)
}
