package main

import (
	"context"
	"errors"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/manager/client"
)

// These are what a program's manifests say: a kind with two versions, and whom the API server asks about it. None of
// them says which CA to trust.

const (
	market = "loopwright-demo-market" // of both webhook configurations
	stalls = "stalls." + group        // of the definition
)

// region configurations

// callsFor is what a configuration says about one webhook. It asks for v2, and by default the API server
// converts an object of another version for it.
func callsFor(address, path string) (admissionregistrationv1.WebhookClientConfig, []admissionregistrationv1.RuleWithOperations) {
	return admissionregistrationv1.WebhookClientConfig{URL: new(address + path)}, // and no caBundle
		[]admissionregistrationv1.RuleWithOperations{{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{group}, APIVersions: []string{"v2"}, Resources: []string{"stalls"}},
		}}
}

func defaulterConfiguration(address string) *admissionregistrationv1.MutatingWebhookConfiguration {
	client, rules := callsFor(address, "/mutate-market-example-v2-stall")
	return &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: market},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "default." + stalls, ClientConfig: client, Rules: rules,
			SideEffects: new(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"}, TimeoutSeconds: new(int32(30)),
		}},
	}
}

func validatorConfiguration(address string) *admissionregistrationv1.ValidatingWebhookConfiguration {
	client, rules := callsFor(address, "/validate-market-example-v2-stall")
	return &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: market},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "validate." + stalls, ClientConfig: client, Rules: rules,
			SideEffects: new(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"}, TimeoutSeconds: new(int32(30)),
		}},
	}
}

// endregion configurations

func definition(address string) *apiextensionsv1.CustomResourceDefinition {
	text, number := apiextensionsv1.JSONSchemaProps{Type: "string"}, apiextensionsv1.JSONSchemaProps{Type: "integer"}
	version := func(name string, stored bool, fields map[string]apiextensionsv1.JSONSchemaProps) apiextensionsv1.CustomResourceDefinitionVersion {
		fields["fruit"] = text
		return apiextensionsv1.CustomResourceDefinitionVersion{Name: name, Served: true, Storage: stored,
			Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
				Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": {Type: "object", Properties: fields}}}}}
	}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: stalls},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "stalls", Kind: "Stall"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{
				version("v1", false, map[string]apiextensionsv1.JSONSchemaProps{"hours": text}),
				version("v2", true, map[string]apiextensionsv1.JSONSchemaProps{"opens": number, "closes": number}),
			},
			Conversion: &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter,
				Webhook: &apiextensionsv1.WebhookConversion{
					ClientConfig:             &apiextensionsv1.WebhookClientConfig{URL: new(address + "/convert")},
					ConversionReviewVersions: []string{"v1"}}},
		},
	}
}

// install removes what an earlier demo has left behind, and creates all three.
func (s *stage) install(ctx context.Context, address string) error {
	if err := s.uninstall(ctx); err != nil {
		return err
	}
	for _, object := range []client.Object{definition(address), defaulterConfiguration(address), validatorConfiguration(address)} {
		if err := s.users.Create(ctx, object); err != nil {
			return fmt.Errorf("installing the market: %w", err)
		}
	}
	return nil
}

// uninstall removes all three, and the stalls with them. The configurations go first: without the program that
// answers for them, they would keep everybody from writing a stall.
func (s *stage) uninstall(ctx context.Context) error {
	var errs []error
	for _, object := range []client.Object{defaulterConfiguration(""), validatorConfiguration(""), definition("")} {
		errs = append(errs, client.IgnoreNotFound(s.users.Delete(ctx, object)))
	}
	return errors.Join(append(errs, s.until(ctx, "the end of the market", func(ctx context.Context) error {
		err := s.users.Get(ctx, client.ObjectKey{Name: stalls}, &apiextensionsv1.CustomResourceDefinition{})
		if err == nil {
			return errors.New("it is still there")
		}
		return client.IgnoreNotFound(err)
	}))...)
}

// refused reports whether the API server has answered, and said no.
func refused(err error) bool { return apierrors.IsForbidden(err) || apierrors.IsInvalid(err) }
