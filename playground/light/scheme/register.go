// Package scheme takes the place of client-go's kubernetes/scheme: it knows the groups that the
// chapters and the playground use.
package scheme

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

var (
	// Scheme knows the types.
	Scheme = runtime.NewScheme()
	// Codecs encode and decode them.
	Codecs = serializer.NewCodecFactory(Scheme)
	// ParameterCodec encodes options into a URL.
	ParameterCodec = runtime.NewParameterCodec(Scheme)

	builder = runtime.SchemeBuilder{
		admissionregistrationv1.AddToScheme, appsv1.AddToScheme, autoscalingv1.AddToScheme, batchv1.AddToScheme,
		coordinationv1.AddToScheme, corev1.AddToScheme,
	}
	// AddToScheme adds the types to another scheme.
	AddToScheme = builder.AddToScheme
)

func init() {
	metav1.AddToGroupVersion(Scheme, schema.GroupVersion{Version: "v1"})
	utilruntime.Must(AddToScheme(Scheme))
}
