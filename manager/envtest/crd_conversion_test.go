package envtest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/manager/conversion"
)

// hub and spoke are two versions of one kind. Of another one, only the hub takes part. A Go type belongs to one kind.
type (
	hub      struct{ metav1.PartialObjectMetadata }
	spoke    struct{ metav1.PartialObjectMetadata }
	alone    struct{ spoke }
	halfHub  struct{ hub }
	halfRest struct{ metav1.PartialObjectMetadata }
)

func (*hub) Hub()                                  {}
func (h *hub) DeepCopyObject() runtime.Object      { return &hub{*h.DeepCopy()} }
func (s *spoke) DeepCopyObject() runtime.Object    { return &spoke{*s.DeepCopy()} }
func (*spoke) ConvertTo(conversion.Hub) error      { return nil }
func (*spoke) ConvertFrom(conversion.Hub) error    { return nil }
func (o *halfRest) DeepCopyObject() runtime.Object { return &halfRest{*o.DeepCopy()} }

func TestOnlyKindsThatTheSchemeCanConvertGetAConversionWebhook(t *testing.T) {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(schema.GroupVersionKind{Group: "g", Version: "v1", Kind: "Converted"}, &hub{})
	scheme.AddKnownTypeWithName(schema.GroupVersionKind{Group: "g", Version: "v2", Kind: "Converted"}, &spoke{})
	scheme.AddKnownTypeWithName(schema.GroupVersionKind{Group: "g", Version: "v1", Kind: "Plain"}, &alone{})
	scheme.AddKnownTypeWithName(schema.GroupVersionKind{Group: "g", Version: "v1", Kind: "Half"}, &halfHub{})
	scheme.AddKnownTypeWithName(schema.GroupVersionKind{Group: "g", Version: "v2", Kind: "Half"}, &halfRest{})
	crd := func(kind string) *apiextensionsv1.CustomResourceDefinition {
		return &apiextensionsv1.CustomResourceDefinition{Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "g", Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: kind},
			Conversion: &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter},
		}}
	}
	serving := WebhookInstallOptions{LocalServingPort: 8443, LocalServingCAData: []byte("ca")}
	converted, plain, half, unknown := crd("Converted"), crd("Plain"), crd("Half"), crd("Unknown")
	all := []*apiextensionsv1.CustomResourceDefinition{converted, plain, half, unknown}
	require.NoError(t, directConversions(all, scheme, serving))
	assert.Equal(t, "https://127.0.0.1:8443/convert", *converted.Spec.Conversion.Webhook.ClientConfig.URL)
	assert.Equal(t, "ca", string(converted.Spec.Conversion.Webhook.ClientConfig.CABundle))
	for _, crd := range all[1:] {
		assert.Nil(t, crd.Spec.Conversion, "%s: the API server would call a webhook that the test does not serve", crd.Spec.Names.Kind)
	}

	serving.IgnoreSchemeConvertible = true
	require.NoError(t, directConversions(all, scheme, serving))
	assert.Equal(t, "https://127.0.0.1:8443/convert", *plain.Spec.Conversion.Webhook.ClientConfig.URL)

	untouched := crd("Plain")
	require.NoError(t, directConversions([]*apiextensionsv1.CustomResourceDefinition{untouched}, scheme, WebhookInstallOptions{}))
	assert.NotNil(t, untouched.Spec.Conversion, "without a local server it is the user's business")
}
