package envtest

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/manager/webhook/conversion"
)

// conversionPath is where a webhook server converts objects.
const conversionPath = "convert"

// directConversions has the API server convert objects at the local port, for the kinds that the
// scheme can convert. From the others it takes a conversion webhook away: the manifest may name one
// that a test does not serve.
func directConversions(crds []*apiextensionsv1.CustomResourceDefinition, scheme *runtime.Scheme, o WebhookInstallOptions) error {
	if len(o.LocalServingCAData) == 0 {
		return nil
	}
	hostPort, err := o.hostPort()
	if err != nil {
		return err
	}
	for _, crd := range crds {
		if crd.Spec.PreserveUnknownFields {
			continue // the API server allows such a CRD no webhook
		}
		kind := schema.GroupKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind}
		if !o.IgnoreSchemeConvertible && !converts(scheme, kind) {
			crd.Spec.Conversion = nil
			continue
		}
		url := "https://" + hostPort + "/" + conversionPath
		crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{
			Strategy: apiextensionsv1.WebhookConverter,
			Webhook: &apiextensionsv1.WebhookConversion{
				ConversionReviewVersions: []string{"v1", "v1beta1"},
				ClientConfig:             &apiextensionsv1.WebhookClientConfig{URL: &url, CABundle: o.LocalServingCAData},
			},
		}
	}
	return nil
}

// converts reports whether the Go types of a kind convert themselves. A kind of which only some versions do is left alone,
// as in controller-runtime: the builder of its webhooks says what is missing.
func converts(scheme *runtime.Scheme, kind schema.GroupKind) bool {
	for known := range scheme.AllKnownTypes() {
		if known.GroupKind() != kind {
			continue
		}
		object, err := scheme.New(known)
		if err != nil {
			return false
		}
		is, err := conversion.IsConvertible(scheme, object)
		return is && err == nil
	}
	return false
}
