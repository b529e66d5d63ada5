// Package protobuf takes the place of apimachinery's serializer: JSON does in a page, and the methods
// that protobuf needs are a third of the program.
package protobuf

import (
	"errors"
	"io"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
)

// SerializerOptions are the original's.
type SerializerOptions struct{ StreamingCollectionsEncoding bool }

// NewSerializer returns a serializer that refuses.
func NewSerializer(runtime.ObjectCreater, runtime.ObjectTyper) runtime.Serializer { return refuses{} }

// NewSerializerWithOptions returns a serializer that refuses.
func NewSerializerWithOptions(runtime.ObjectCreater, runtime.ObjectTyper, SerializerOptions) runtime.Serializer {
	return refuses{}
}

// NewRawSerializer returns a serializer that refuses.
func NewRawSerializer(runtime.ObjectCreater, runtime.ObjectTyper) runtime.Serializer {
	return refuses{}
}

// LengthDelimitedFramer is never used.
var LengthDelimitedFramer = json.Framer

type refuses struct{}

var errNone = errors.New("there is no protobuf in a page")

func (refuses) Encode(runtime.Object, io.Writer) error { return errNone }

func (refuses) Decode([]byte, *schema.GroupVersionKind, runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	return nil, nil, errNone
}

func (refuses) Identifier() runtime.Identifier { return "no protobuf" }

// RecognizesData says that nothing is protobuf.
func (refuses) RecognizesData([]byte) (ok, unknown bool, err error) { return false, false, nil }
