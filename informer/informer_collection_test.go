package informer

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

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
		{"deployments.apps with metadata.name=a", Collection{Resource: deployments, FieldSelector: "metadata.name=a"}},
		{"deployments.apps in namespace shop with app=web metadata.name=a", Collection{
			Resource: deployments, Namespace: "shop", LabelSelector: "app=web", FieldSelector: "metadata.name=a",
		}},
	} {
		require.Equal(t, c.want, c.of.String())
	}
}

// Stop is given a collection. An informer that it means and does not stop goes on
// calling handlers, and one that it does not mean must go on.
func TestACollectionIncludesItsFormsAndNoOtherCollection(t *testing.T) {
	gadgetKind := schema.GroupVersionKind{Group: widgetKind.Group, Version: widgetKind.Version, Kind: "Gadget"}
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
		{"another namespace", Collection{Resource: widgetResource, Namespace: "shop"}, of(FormTyped, none), false},
	} {
		require.Equal(t, c.included, c.asked.includes(c.one), c.name)
	}
}
