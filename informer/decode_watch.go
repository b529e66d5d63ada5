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
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/watch"
)

// eventDecoder takes events out of the body of a watch. It returns io.EOF where
// one event has ended and no other began.
type eventDecoder interface {
	Decode() (watch.EventType, runtime.Object, error)
}

// eventsOf decodes events of T with buffers that are used again and again, and
// leaves what is not a T (a Status, or a mistake) to the general decoder.
//
// That one goes over the JSON of an event five times: to find its end, to read
// the envelope, to copy the object, to learn the kind, and to decode. Here it is
// three, and the buffers are no garbage.
type eventsOf[T Object] struct {
	*expected
	frame   func() error // reads the next event into envelope
	general runtime.Decoder

	shared   sharedFields
	envelope metav1.WatchEvent
	unknown  runtime.Unknown // the protobuf around an object
}

// fastEvents returns a decoder for the body, or nil if there is none for its type.
func (l *ListWatch[T]) fastEvents(body io.Reader, mediaType string) eventDecoder {
	base, parameters, _ := mime.ParseMediaType(mediaType)
	general, _, _, err := l.wire.negotiator.StreamDecoder(base, parameters)
	if err != nil {
		return nil
	}
	events := &eventsOf[T]{expected: l.expected, general: general, shared: sharedFields{}}
	switch {
	case base == jsonType:
		in := newJSONStream(body)
		events.frame = func() error { return events.readJSON(in) }
	case base == protobufType && isProtobuf[T]():
		in := newProtobufStream(body)
		events.frame = func() error { return events.readProtobuf(in) }
	default:
		return nil
	}
	return events
}

// Decode returns the next event.
func (e *eventsOf[T]) Decode() (watch.EventType, runtime.Object, error) {
	e.envelope.Type, e.envelope.Object.Raw = "", e.envelope.Object.Raw[:0]
	if err := e.frame(); err != nil {
		return "", nil, err
	}
	kind := watch.EventType(e.envelope.Type)
	switch kind {
	case watch.Added, watch.Modified, watch.Deleted, watch.Bookmark:
		if object, ok, err := e.object(); ok || err != nil {
			e.shared.share(object)
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
func (e *eventsOf[T]) object() (runtime.Object, bool, error) {
	raw, object := e.envelope.Object.Raw, newObject[T]()
	if message, ok := any(object).(protobufMessage); ok && len(raw) > 4 && string(raw[:4]) == protobufMagic {
		e.unknown = runtime.Unknown{Raw: e.unknown.Raw[:0]}
		if err := e.unknown.Unmarshal(raw[4:]); err != nil || e.unknown.Kind != e.kind {
			return nil, false, err
		}
		if name := e.unknown.GroupVersionKind(); !e.is(name) {
			return nil, false, e.wrong(name)
		}
		return object, true, message.Unmarshal(e.unknown.Raw)
	}
	if err := json.Unmarshal(raw, object); err != nil {
		return nil, false, nil // let the general decoder say what is wrong
	}
	if name := object.GetObjectKind().GroupVersionKind(); name.Kind != e.kind {
		return nil, false, nil
	} else if !e.is(name) {
		return nil, false, e.wrong(name)
	}
	// As from the general decoder: the Go type says what it is.
	object.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	return object, true, nil
}

// readJSON reads {"type": ..., "object": {...}}.
func (e *eventsOf[T]) readJSON(in *jsonStream) error {
	if _, err := in.peek(); err != nil {
		return err // io.EOF: a good end
	}
	return noGoodEnd(in.members(func(name string) error {
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
func (e *eventsOf[T]) readProtobuf(in *protobufStream) error {
	var length [4]byte
	if _, err := io.ReadFull(in, length[:]); err != nil {
		return err // io.EOF: a good end
	}
	return noGoodEnd(in.decode(int64(binary.BigEndian.Uint32(length[:])), &e.envelope))
}

// noGoodEnd is for the middle of something, where the end comes too soon.
func noGoodEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
