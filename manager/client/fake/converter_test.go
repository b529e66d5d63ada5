package fake_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/fake"
)

// widgetSchema is what a generator would make of the Go types. NAME is that of widgets.
const widgetSchema = `types:
- name: NAME
  map:
    fields:
    - {name: apiVersion, type: {scalar: string}}
    - {name: kind, type: {scalar: string}}
    - {name: metadata, type: {namedType: anything}}
    - {name: status, type: {namedType: anything}}
    - name: spec
      type:
        map:
          fields:
          - {name: size, type: {scalar: numeric}}
          - name: parts
            type:
              list:
                elementRelationship: associative
                keys: [name]
                elementType:
                  map:
                    fields:
                    - {name: name, type: {scalar: string}}
                    - {name: size, type: {scalar: numeric}}
- name: anything
  scalar: untyped
  list: {elementType: {namedType: anything}, elementRelationship: atomic}
  map: {elementType: {namedType: anything}, elementRelationship: separable}
`

func TestATypeConverterTellsApplyHowToMerge(t *testing.T) {
	s := newScheme()
	name, err := s.ToOpenAPIDefinitionName(shop.WithKind("Widget"))
	require.NoError(t, err)
	parser, err := typed.NewParser(typed.YAMLObject(strings.Replace(widgetSchema, "NAME", name, 1)))
	require.NoError(t, err)
	apply := func(c client.Client, owner, part string) {
		t.Helper()
		u := looseWidget("a")
		require.NoError(t, unstructured.SetNestedSlice(u.Object, []any{map[string]any{"name": part}}, "spec", "parts"))
		require.NoError(t, c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(owner), client.ForceOwnership))
	}

	c := fake.NewClientBuilder().WithScheme(s).WithTypeConverters(managedfields.NewSchemeTypeConverter(s, parser)).Build()
	apply(c, "one", "wheel")
	apply(c, "two", "door")
	require.Equal(t, []Part{{Name: "wheel"}, {Name: "door"}}, read(t, c, widget("a")).Spec.Parts, "two owners share a list that has keys")
	require.NoError(t, c.Create(t.Context(), &Depot{ObjectMeta: metav1.ObjectMeta{Name: "d"}}), "a kind that the converter does not know can be written, too")

	c = fake.NewClientBuilder().WithScheme(s).Build()
	apply(c, "one", "wheel")
	apply(c, "two", "door")
	require.Equal(t, []Part{{Name: "door"}}, read(t, c, widget("a")).Spec.Parts, "without a schema a list is one value")
}
