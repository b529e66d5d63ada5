package admission

import (
	"errors"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/json"
)

// Decoder makes Go objects of what a Request holds.
//
// Errors: Both methods return an error if there is no object, as in the Object of a deletion.
type Decoder interface {
	// Decode reads req.Object: the object as it is to be stored.
	Decode(req Request, into runtime.Object) error
	// DecodeRaw reads any object of the request. req.OldObject is the one that is stored.
	DecodeRaw(rawObj runtime.RawExtension, into runtime.Object) error
}

// NewDecoder returns a Decoder for the kinds of the scheme. It panics if there is none.
func NewDecoder(scheme *runtime.Scheme) Decoder {
	if scheme == nil {
		panic("admission.NewDecoder needs a scheme: pass mgr.GetScheme()")
	}
	return decoder{serializer.NewCodecFactory(scheme).UniversalDeserializer()}
}

type decoder struct {
	objects runtime.Decoder
}

// Decode implements Decoder.
func (d decoder) Decode(req Request, into runtime.Object) error { return d.DecodeRaw(req.Object, into) }

// DecodeRaw implements Decoder.
func (d decoder) DecodeRaw(rawObj runtime.RawExtension, into runtime.Object) error {
	if len(rawObj.Raw) == 0 {
		return errors.New("there is no content to decode")
	}
	if loose, is := into.(runtime.Unstructured); is {
		// An unstructured object refuses to be decoded without apiVersion and kind. An embedded object
		// may lack both: the request names them.
		var content map[string]any
		if err := json.Unmarshal(rawObj.Raw, &content); err != nil {
			return err
		}
		loose.SetUnstructuredContent(content)
		return nil
	}
	return runtime.DecodeInto(d.objects, rawObj.Raw, into)
}
