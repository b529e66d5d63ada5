package devca

import (
	"encoding/base64"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	mutating   = schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "MutatingWebhookConfiguration"}
	validating = schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingWebhookConfiguration"}
	crd        = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}
)

// putBundle writes a bundle wherever an object says how to reach a webhook. It returns whether it changed
// anything, and leaves all other fields alone, those that this program does not know too.
func putBundle(object *unstructured.Unstructured, bundle []byte) (changed bool, err error) {
	text := base64.StdEncoding.EncodeToString(bundle)
	put := func(clientConfig map[string]any) {
		if clientConfig["caBundle"] != text {
			clientConfig["caBundle"], changed = text, true
		}
	}
	if object.GroupVersionKind() == crd {
		clientConfig, _, _ := unstructured.NestedFieldNoCopy(object.Object, "spec", "conversion", "webhook", "clientConfig")
		fields, is := clientConfig.(map[string]any)
		if !is {
			return false, errors.New("it has no conversion webhook: set spec.conversion.strategy to Webhook, and spec.conversion.webhook.clientConfig")
		}
		put(fields)
		return changed, nil
	}
	list, _ := object.Object["webhooks"].([]any)
	if len(list) == 0 {
		return false, errors.New("it has no webhooks")
	}
	for i, webhook := range list {
		fields, _ := webhook.(map[string]any)
		clientConfig, is := fields["clientConfig"].(map[string]any)
		if !is {
			return false, fmt.Errorf("its webhooks[%d] has no clientConfig", i)
		}
		put(clientConfig)
	}
	return changed, nil
}
