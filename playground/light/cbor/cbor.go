// Package cbor takes the place of apimachinery's serializer. Nothing in a page speaks CBOR.
package cbor

import (
	"errors"
	"io"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
)

var errNone = errors.New("there is no CBOR in a page")

type refuses struct{}

func (refuses) Encode(runtime.Object, io.Writer) error { return errNone }

func (refuses) Decode([]byte, *schema.GroupVersionKind, runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	return nil, nil, errNone
}

func (refuses) Identifier() runtime.Identifier { return "no CBOR" }

// RecognizesData says that nothing is CBOR.
func (refuses) RecognizesData([]byte) (ok, unknown bool, err error) { return false, false, nil }

// Option is one of NewSerializer.
type Option struct{}

// Transcode does nothing.
func Transcode(bool) Option { return Option{} }

// NewSerializer returns a serializer that refuses.
func NewSerializer(runtime.ObjectCreater, runtime.ObjectTyper, ...Option) runtime.Serializer {
	return refuses{}
}

// NewFramer is never used.
func NewFramer() runtime.Framer { return json.Framer }

// NewSerializerInfo returns a serializer that refuses.
func NewSerializerInfo(runtime.ObjectCreater, runtime.ObjectTyper) runtime.SerializerInfo {
	return runtime.SerializerInfo{
		MediaType: "application/cbor", MediaTypeType: "application", MediaTypeSubType: "cbor",
		Serializer: refuses{}, StrictSerializer: refuses{},
		StreamSerializer: &runtime.StreamSerializerInfo{Framer: json.Framer, Serializer: refuses{}},
	}
}
