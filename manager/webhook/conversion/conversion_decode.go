package conversion

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
)

// Decoder makes Go objects of the objects in a request, each in its own version.
type Decoder struct {
	objects runtime.Decoder
}

// NewDecoder returns a Decoder for the kinds of the scheme. It panics if there is none.
func NewDecoder(scheme *runtime.Scheme) *Decoder {
	if scheme == nil {
		panic("conversion.NewDecoder needs a scheme: pass mgr.GetScheme()")
	}
	return &Decoder{serializer.NewCodecFactory(scheme).UniversalDeserializer()}
}

// Decode makes an object of the type that the scheme has for its kind.
func (d *Decoder) Decode(content []byte) (runtime.Object, *schema.GroupVersionKind, error) {
	return d.objects.Decode(content, nil, nil)
}

// DecodeInto fills an object.
func (d *Decoder) DecodeInto(content []byte, into runtime.Object) error {
	return runtime.DecodeInto(d.objects, content, into)
}
