package informer

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"mime"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// eventDecoder takes events out of the body of a watch. It returns io.EOF when the
// body ends between two events.
type eventDecoder interface {
	Decode() (watch.EventType, runtime.Object, error)
}

// typedEventDecoder decodes events of T, reuses its buffers, and leaves everything
// that is not a T (a Status, or a mistake) to the general decoder.
//
// The general one goes over the JSON of an event five times: to find its end, to read
// the envelope, to copy the object, to learn the kind, and to decode. This one goes
// over it three times, and makes no garbage of its buffers.
type typedEventDecoder[T Object] struct {
	*objectType[T]
	frame   func() error // reads the next event into envelope
	general runtime.Decoder

	interned internedFields
	envelope metav1.WatchEvent
	unknown  runtime.Unknown // the protobuf around an object
}

// newTypedEventDecoder returns a decoder for the body, or nil if there is none for its type.
func (l *ListWatch[T]) newTypedEventDecoder(body io.Reader, mediaType string) eventDecoder {
	base, parameters, _ := mime.ParseMediaType(mediaType)
	general, _, _, err := l.endpoint.negotiator.StreamDecoder(base, parameters)
	if err != nil {
		return nil
	}
	events := &typedEventDecoder[T]{objectType: l.objectType, general: general, interned: internedFields{}}
	switch {
	case base == jsonType:
		in := newJSONStream(body)
		events.frame = func() error { return events.readJSON(in) }
	case base == protobufType && l.isProtobuf:
		in := newProtobufStream(body)
		events.frame = func() error { return events.readProtobuf(in) }
	default:
		return nil
	}
	return events
}

// Decode returns the next event.
func (e *typedEventDecoder[T]) Decode() (watch.EventType, runtime.Object, error) {
	e.envelope.Type, e.envelope.Object.Raw = "", e.envelope.Object.Raw[:0]
	if err := e.frame(); err != nil {
		return "", nil, err
	}
	kind := watch.EventType(e.envelope.Type)
	switch kind {
	case watch.Added, watch.Modified, watch.Deleted, watch.Bookmark:
		if object, ok, err := e.object(); ok || err != nil {
			e.interned.intern(object)
			return kind, object, err
		}
	case watch.Error:
	default:
		return "", nil, fmt.Errorf("the server sent an event of the unknown type %q", kind)
	}
	object, err := runtime.Decode(e.general, e.envelope.Object.Raw)
	if err != nil {
		return "", nil, fmt.Errorf("decoding the object of a %s event: %w", kind, err)
	}
	return kind, object, nil
}

// object decodes the envelope's object if it is a T.
func (e *typedEventDecoder[T]) object() (runtime.Object, bool, error) {
	raw, object := e.envelope.Object.Raw, e.newObject()
	if message, ok := any(object).(protobufMessage); ok && len(raw) > 4 && string(raw[:4]) == protobufMagic {
		e.unknown = runtime.Unknown{Raw: e.unknown.Raw[:0]}
		if err := e.unknown.Unmarshal(raw[4:]); err != nil {
			return nil, false, err
		}
		if name := e.unknown.GroupVersionKind(); !e.is(name) {
			return nil, false, e.refuse(name)
		}
		err := message.Unmarshal(e.unknown.Raw)
		e.complete(object, e.unknown.GroupVersionKind())
		return object, true, err
	}
	if err := e.unmarshal(raw, object); err != nil {
		return nil, false, e.orGeneral(err)
	}
	name := object.GetObjectKind().GroupVersionKind()
	if !e.is(name) {
		return nil, false, e.refuse(name)
	}
	e.complete(object, name)
	return object, true, nil
}

// refuse is the error for an object of another kind. The general decoder has a
// better one for a typed object, because the scheme may know what it is.
func (e *typedEventDecoder[T]) refuse(name schema.GroupVersionKind) error {
	if name.Kind == e.kind {
		return e.wrong(name)
	}
	return e.orGeneral(e.wrong(name))
}

// orGeneral leaves the error to the general decoder, which needs a Go type for the
// kind.
func (e *typedEventDecoder[T]) orGeneral(err error) error {
	if e.form == FormTyped {
		return nil
	}
	return err
}

// readJSON reads {"type": ..., "object": {...}}.
func (e *typedEventDecoder[T]) readJSON(in *jsonStream) error {
	if _, err := in.peek(); err != nil {
		return err // io.EOF: a good end
	}
	return unexpectedEOF(in.members(func(name string) error {
		if name == "type" {
			return in.decode(&e.envelope.Type)
		}
		value, err := in.value()
		if name == "object" {
			e.envelope.Object.Raw = append(e.envelope.Object.Raw[:0], value...)
		}
		return err
	}))
}

// readProtobuf reads a length of four bytes, and the event.
func (e *typedEventDecoder[T]) readProtobuf(in *protobufStream) error {
	var length [4]byte
	if _, err := io.ReadFull(in, length[:]); err != nil {
		return err // io.EOF: a good end
	}
	return unexpectedEOF(in.decode(int64(binary.BigEndian.Uint32(length[:])), &e.envelope))
}

// unexpectedEOF is for a body that ends in the middle of something.
func unexpectedEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
