package envtest

import (
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
	convertible, err := hubs(scheme)
	if err != nil {
		return err
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
		if !convertible[kind] && !o.IgnoreSchemeConvertible {
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

// hubs returns the kinds of which one version is the hub: the version that the others are converted
// to and from, as package conversion has it.
func hubs(scheme *runtime.Scheme) (map[schema.GroupKind]bool, error) {
	found := map[schema.GroupKind]bool{}
	for kind := range scheme.AllKnownTypes() {
		object, err := scheme.New(kind)
		if err != nil {
			return nil, fmt.Errorf("looking for kinds that can be converted: %w", err)
		}
		if _, is := object.(interface{ Hub() }); is {
			found[kind.GroupKind()] = true
		}
	}
	return found, nil
}
