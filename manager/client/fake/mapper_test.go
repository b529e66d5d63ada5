package fake_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/manager/client/fake"
)

// A program that takes the name of a resource from a user, as kubectl does, asks these questions.
func TestTheDefaultMapperAnswersQuestionsAboutResources(t *testing.T) {
	mapper := builder().Build().RESTMapper()
	widgets := shop.WithResource("widgets")
	kinds, err := mapper.KindsFor(schema.GroupVersionResource{Resource: "widgets"})
	require.NoError(t, err)
	require.Equal(t, []schema.GroupVersionKind{shop.WithKind("Widget")}, kinds)
	resources, err := mapper.ResourcesFor(schema.GroupVersionResource{Resource: "widget"})
	require.NoError(t, err)
	require.Equal(t, []schema.GroupVersionResource{widgets}, resources)
	singular, err := mapper.ResourceSingularizer("widgets")
	require.NoError(t, err)
	require.Equal(t, "widget", singular)
	_, err = mapper.KindFor(schema.GroupVersionResource{Resource: "widgetlists"})
	require.True(t, meta.IsNoMatchError(err), "a list is no object: %v", err)
}

func TestTheDefaultMapperPrefersTheCoreGroupAndTheNewestVersion(t *testing.T) {
	mapper := builder().Build().RESTMapper()
	kind, err := mapper.KindFor(schema.GroupVersionResource{Resource: "events"})
	require.NoError(t, err)
	require.Equal(t, corev1.SchemeGroupVersion.WithKind("Event"), kind)
	kind, err = mapper.KindFor(schema.GroupVersionResource{Group: "events.k8s.io", Resource: "events"})
	require.NoError(t, err)
	require.Equal(t, eventsv1.SchemeGroupVersion.WithKind("Event"), kind)
	resource, err := mapper.ResourceFor(schema.GroupVersionResource{Resource: "deployments"})
	require.NoError(t, err)
	require.Equal(t, schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, resource, "no server has those of extensions any more")
}

func TestMappingsAreOfTheVersionsThatAreAskedFor(t *testing.T) {
	c := builder().Build()
	autoscaler := schema.GroupKind{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}
	mappings, err := c.RESTMapper().RESTMappings(autoscaler, "v2", "v1")
	require.NoError(t, err)
	var versions []string
	for _, mapping := range mappings {
		versions = append(versions, mapping.GroupVersionKind.Version+" "+mapping.Resource.Version+" "+mapping.Resource.Resource)
	}
	require.Equal(t, []string{"v2 v2 horizontalpodautoscalers", "v1 v1 horizontalpodautoscalers"}, versions)
	mappings, err = c.RESTMapper().RESTMappings(schema.GroupKind{Group: "autoscaling", Kind: "Scale"})
	require.NoError(t, err)
	require.Len(t, mappings, 1)
	require.Equal(t, autoscalingv1.SchemeGroupVersion.WithKind("Scale"), mappings[0].GroupVersionKind)

	for _, versions := range [][]string{nil, {""}, {"v1", ""}} {
		_, err = c.RESTMapper().RESTMappings(schema.GroupKind{Group: "none", Kind: "None"}, versions...)
		require.True(t, meta.IsNoMatchError(err), "%v: %v", versions, err)
	}
	require.Contains(t, c.RESTMapper().(interface{ String() string }).String(), "the kinds of a fake client")
}

func TestTheScopeOfAMappingIsThatOfTheKind(t *testing.T) {
	mapper := fake.NewFakeClient().RESTMapper()
	for kind, want := range map[string]meta.RESTScopeName{"Pod": meta.RESTScopeNameNamespace, "Node": meta.RESTScopeNameRoot} {
		mapping, err := mapper.RESTMapping(schema.GroupKind{Kind: kind}, "v1")
		require.NoError(t, err)
		require.Equal(t, want, mapping.Scope.Name(), kind)
	}
}
