package admission_test

import (
	"context"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/loopwright/loopwright/manager/webhook/admission"
)

// yellow is a Defaulter of ConfigMaps.
type yellow struct{}

func (yellow) Default(_ context.Context, object *corev1.ConfigMap) error {
	if object.Data["colour"] == "" {
		object.Data = map[string]string{"colour": "yellow"}
	}
	return nil
}

func ExampleWithDefaulter() {
	hook := admission.WithDefaulter(scheme.Scheme, yellow{})
	request := admissionv1.AdmissionRequest{
		Operation: admissionv1.Create,
		Object:    runtime.RawExtension{Raw: []byte(`{"metadata":{"name":"bananas"}}`)},
	}
	response := hook.Handle(context.Background(), admission.Request{AdmissionRequest: request})
	fmt.Println(response.Allowed, string(response.Patch))
	// Output: true [{"op":"add","path":"/data","value":{"colour":"yellow"}}]
}

func ExampleHandlerFunc() {
	hook := &admission.Webhook{Handler: admission.HandlerFunc(func(
		_ context.Context, req admission.Request,
	) admission.Response {
		if req.Namespace == "shop" {
			return admission.Allowed("").WithWarnings("the shop closes soon")
		}
		return admission.Denied("only the shop has bananas")
	})}
	for _, namespace := range []string{"shop", "office"} {
		response := hook.Handle(context.Background(),
			admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{Namespace: namespace}})
		fmt.Println(
			response.Allowed, response.Result.Code, response.Result.Message, response.Warnings)
	}
	// Output:
	// true 200  [the shop closes soon]
	// false 403 only the shop has bananas []
}
