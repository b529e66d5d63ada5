package fake_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/fake"
)

type notApplicable struct{}

func (notApplicable) IsApplyConfiguration() {}

// A kind that nobody has named must not be served: a mapper that lists all kinds would list it.
func TestWhatHasNoKindIsNotServed(t *testing.T) {
	c := fake.NewFakeClient()
	require.True(t, runtime.IsNotRegisteredError(c.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "a"}, widget("a"))))
	require.ErrorContains(t, c.Apply(t.Context(), notApplicable{}), "cannot be applied")
	require.ErrorContains(t, c.Apply(t.Context(), applycorev1.ConfigMap("a", "shop").WithAPIVersion("a/b/c")), "a/b/c")
	require.Equal(t, "the kinds of a fake client, 0 met", fmt.Sprint(c.RESTMapper()))
}

func TestAWatchOfATypeThatTheSchemeLacksIsAnError(t *testing.T) {
	_, err := fake.NewFakeClient().Watch(t.Context(), &WidgetList{})
	require.True(t, runtime.IsNotRegisteredError(err), "%v", err)
}

func TestAWatchThatIsStoppedEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, err := fake.NewFakeClient().Watch(t.Context(), podMaps())
		require.NoError(t, err)
		began := time.Now()
		w.Stop()
		for range w.ResultChan() { // what was on its way; it ends when the channel is closed
		}
		require.Zero(t, time.Since(began), "the server ends it, too, but much later")
		w.Stop()
	})
}

// Custom resources are applied with configurations that a generator has made, too.
func TestATypedConfigurationIsAppliedInItsNamespace(t *testing.T) {
	c := fake.NewClientBuilder().WithScheme(newScheme()).Build()
	config := applycorev1.ConfigMap("a", "shop").WithKind("Widget").WithAPIVersion(shop.String())
	require.NoError(t, c.Apply(t.Context(), config, client.FieldOwner("me")))
	read(t, c, widget("a"))
}

// The mapper says what is known so far, whichever call has been the first.
func TestAPatchOfAStatusSaysWhereTheKindIs(t *testing.T) {
	c, depot := fake.NewClientBuilder().WithScheme(newScheme()).Build(), &Depot{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	require.Error(t, c.Status().Patch(t.Context(), depot, client.RawPatch(types.MergePatchType, []byte("{}"))))
	namespaced, err := c.IsObjectNamespaced(depot)
	require.NoError(t, err)
	require.False(t, namespaced)
}

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
