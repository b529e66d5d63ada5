package informer

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"mime"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/watch"
)

// A list is decoded while it arrives, one item after the other. The whole answer is
// never in memory, and each object is allocated separately.
//
// client-go reads an answer to its end, decodes it into a []Pod, and hands out
// pointers into that array. Two copies of everything exist at that moment, and
// later one object that somebody keeps is enough to keep all of them in memory.

// listDecoder takes the items, and the list's own fields, out of an answer.
type listDecoder[T Object] struct {
	*objectType[T]
	list List[T]
}

// decodeList reads a list from an answer's body and closes it. It does not read a
// media type that it does not know, and returns ok false.
func (l *ListWatch[T]) decodeList(
	body io.ReadCloser, mediaType string) (list *List[T], ok bool, err error,
) {
	base, _, _ := mime.ParseMediaType(mediaType)
	decoder := &listDecoder[T]{objectType: l.objectType}
	switch {
	case base == jsonType:
		err = decoder.json(newJSONStream(body))
	case base == protobufType && l.isProtobuf:
		err = decoder.protobuf(newProtobufStream(body))
	default:
		return nil, false, nil
	}
	if closing := body.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return nil, true, fmt.Errorf("decoding the answer: %w", unexpectedEOF(err))
	}
	return &decoder.list, true, nil
}

// json reads {"kind": ..., "metadata": {...}, "items": [...]} in any order: the
// lists of built-in kinds begin with their kind, those of custom resources with
// the items.
func (d *listDecoder[T]) json(in *jsonStream) error {
	var kind, apiVersion string
	hasItems := false
	err := in.members(func(name string) error {
		switch name {
		case "kind":
			return in.decode(&kind)
		case "apiVersion":
			return in.decode(&apiVersion)
		case "metadata":
			var about metav1.ListMeta
			if err := in.decode(&about); err != nil {
				return err
			}
			d.setMetadata(&about)
		case "items":
			hasItems, d.list.Items = true, nil
			return in.elements(func() error {
				text, err := in.value()
				if err != nil {
					return err
				}
				object := d.newObject()
				if err := d.unmarshal(text, object); err != nil {
					return err
				}
				if kind := object.GetObjectKind().GroupVersionKind(); kind.Kind != "" && !d.is(kind) {
					return d.wrong(kind)
				}
				d.add(object)
				return nil
			})
		default:
			_, err := in.value()
			return err
		}
		return nil
	})
	if err != nil {
		return err
	}
	about := schema.FromAPIVersionAndKind(apiVersion, kind)
	if !d.isList(about) && !(hasItems && d.mayBeList(about)) {
		return d.wrong(about)
	}
	d.completeItems(about)
	return in.finish()
}

func (d *listDecoder[T]) add(item T) {
	d.list.Items = append(d.list.Items, item)
}

func (d *listDecoder[T]) setMetadata(about *metav1.ListMeta) {
	d.list.ResourceVersion, d.list.Continue = about.ResourceVersion, about.Continue
	d.list.Remaining = about.RemainingItemCount
}

// completeItems runs at the end, because the kind of a list may follow its items.
func (d *listDecoder[T]) completeItems(list schema.GroupVersionKind) {
	item := list.GroupVersion().WithKind(strings.TrimSuffix(list.Kind, "List"))
	for _, object := range d.list.Items {
		d.complete(object, item)
	}
}

// decode reads one value into a Go value.
func (s *jsonStream) decode(into any) error {
	value, err := s.value()
	if err != nil {
		return err
	}
	return json.Unmarshal(value, into)
}

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

	envelope metav1.WatchEvent
	unknown  runtime.Unknown // the protobuf around an object
}

// newTypedEventDecoder returns a decoder for the body, or nil if there is none for its type.
func (l *ListWatch[T]) newTypedEventDecoder(body io.Reader, mediaType string) eventDecoder {
	base, parameters, _ := mime.ParseMediaType(mediaType)
	general, _, _, err := l.client.negotiator.StreamDecoder(base, parameters)
	if err != nil {
		return nil
	}
	events := &typedEventDecoder[T]{objectType: l.objectType, general: general}
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
	if message, ok := any(object).(protobufMessage); ok && len(raw) > 4 &&
		string(raw[:4]) == protobufMagic {
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
