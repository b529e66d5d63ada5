package informer

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/apimachinery/pkg/watch"
	utiljson "sigs.k8s.io/json"
)

// A list is decoded while it arrives, one item after another. The whole answer is never in memory,
// and each object is allocated separately.
//
// client-go reads an answer to its end, decodes it into a []Pod, and hands out pointers into that
// array. At that moment everything exists twice. Later, one object that somebody keeps is enough to
// keep all of them in memory.

// listDecoder takes the items, and the list's own fields, out of an answer.
type listDecoder[T Object] struct {
	*objectType[T]
	list List[T]
}

// decodeList reads a list from an answer's body and closes it. It doesn't read a media type that it
// doesn't know, and returns ok false.
func (l *ListWatch[T]) decodeList(
	body io.ReadCloser, mediaType string,
) (list *List[T], ok bool, err error) {
	base, _, _ := mime.ParseMediaType(mediaType)
	decoder := &listDecoder[T]{objectType: l.objectType}
	switch {
	case base == jsonType:
		err = decoder.json(body)
	case base == protobufType && l.isProtobuf:
		err = decoder.protobuf(newProtobufStream(body))
	default:
		return nil, false, nil
	}
	if closing := body.Close(); err == nil {
		err = closing
	}
	if errors.Is(err, io.EOF) { // the body ends in the middle of something
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, true, fmt.Errorf("decoding the answer: %w", err)
	}
	return &decoder.list, true, nil
}

// json reads {"kind": ..., "metadata": {...}, "items": [...]} in any order: the
// lists of built-in kinds begin with their kind, those of custom resources with
// the items.
func (d *listDecoder[T]) json(body io.Reader) error {
	in := newJSONStream(body)
	var about metav1.TypeMeta
	hasItems := false
	if err := expect(in, '{'); err != nil {
		return err
	}
	for in.another() {
		name, err := in.Token()
		if err != nil {
			return err
		}
		switch name {
		case "kind":
			err = in.Decode(&about.Kind)
		case "apiVersion":
			err = in.Decode(&about.APIVersion)
		case "metadata":
			var text json.RawMessage
			var metadata metav1.ListMeta
			if err = in.Decode(&text); err == nil { // encoding/json would match names in any case
				err = utiljson.UnmarshalCaseSensitivePreserveInts(text, &metadata)
			}
			d.setMetadata(&metadata)
		case "items":
			hasItems = true
			err = d.jsonItems(in)
		default:
			err = in.Decode(new(json.RawMessage))
		}
		if err != nil {
			return err
		}
	}
	if err := expect(in, '}'); err != nil {
		return err
	}
	gvk := about.GroupVersionKind()
	if !d.isList(gvk) && !(hasItems && d.mayBeList(gvk)) {
		return d.wrong(gvk)
	}
	d.completeItems(gvk)
	// A body that isn't read to its end costs its connection: net/http can't use it again.
	if _, err := in.Token(); !errors.Is(err, io.EOF) {
		return cmp.Or(err, errors.New("this is not a JSON list: something follows its end"))
	}
	return nil
}

// jsonItems reads an array, or null.
func (d *listDecoder[T]) jsonItems(in *jsonStream) error {
	switch begin, err := in.Token(); {
	case err != nil || begin == nil:
		return err
	case begin != json.Delim('['):
		return fmt.Errorf("this is not a JSON list: %v where an array was expected", begin)
	}
	var text json.RawMessage // reused: decoded objects share nothing with it
	for in.another() {
		if err := in.Decode(&text); err != nil {
			return err
		}
		object := d.newObject()
		if err := d.unmarshal(text, object); err != nil {
			return err
		}
		if gvk := object.GetObjectKind().GroupVersionKind(); gvk.Kind != "" && !d.matches(gvk) {
			return d.wrong(gvk)
		}
		d.add(object)
	}
	return expect(in, ']')
}

// jsonStream is a decoder that stops at a value with more than mostObject bytes. It reads ahead, so
// a value may have as many bytes more as it has read ahead.
type jsonStream struct {
	*json.Decoder
	body io.LimitedReader
}

func newJSONStream(body io.Reader) *jsonStream {
	s := &jsonStream{body: io.LimitedReader{R: body, N: mostObject}}
	s.Decoder = json.NewDecoder(s)
	return s
}

// Read implements io.Reader for the decoder.
func (s *jsonStream) Read(into []byte) (int, error) {
	if s.body.N <= 0 {
		return 0, fmt.Errorf("an object of more than %d bytes is too large", mostObject)
	}
	return s.body.Read(into)
}

// another reports whether a value follows, which may have mostObject bytes.
func (s *jsonStream) another() bool {
	s.body.N = mostObject
	return s.More()
}

func expect(in *jsonStream, want json.Delim) error {
	token, err := in.Token()
	if err == nil && token != want {
		err = fmt.Errorf("this is not a JSON list: %v where %v was expected", token, want)
	}
	return err
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

// eventDecoder decodes events from the body of a watch.
//
// It decodes the objects itself, because only it knows the Go type of a custom resource that no
// scheme has. If something isn't a T (a Status, or a mistake), it leaves it to the general decoder.
type eventDecoder[T Object] struct {
	*objectType[T]
	isJSON  bool
	next    func(*metav1.WatchEvent) error
	general runtime.Decoder
}

func (l *ListWatch[T]) newEventDecoder(
	body io.ReadCloser, mediaType string,
) (*eventDecoder[T], error) {
	base, parameters, err := mime.ParseMediaType(mediaType)
	if err != nil {
		return nil, fmt.Errorf("reading the answer's content type %q: %w", mediaType, err)
	}
	general, envelope, framer, err := l.client.negotiator.StreamDecoder(base, parameters)
	if err != nil {
		return nil, fmt.Errorf("the answer is %q, which has no decoder: %w", mediaType, err)
	}
	e := &eventDecoder[T]{objectType: l.objectType, isJSON: base == jsonType, general: general}
	if e.isJSON {
		in := newJSONStream(body)
		e.next = func(event *metav1.WatchEvent) error {
			in.body.N = mostObject
			return in.Decode(event)
		}
		return e, nil
	}
	in := streaming.NewDecoder(framer.NewFrameReader(body), envelope)
	e.next = func(event *metav1.WatchEvent) error {
		_, _, err := in.Decode(nil, event)
		return err
	}
	return e, nil
}

// Decode returns the next event, or io.EOF if the body ends between two events.
func (e *eventDecoder[T]) Decode() (watch.EventType, runtime.Object, error) {
	var event metav1.WatchEvent
	if err := e.next(&event); err != nil {
		return "", nil, err
	}
	eventType := watch.EventType(event.Type)
	switch eventType {
	case watch.Added, watch.Modified, watch.Deleted, watch.Bookmark:
		if object, ok, err := e.object(event.Object.Raw); ok || err != nil {
			return eventType, object, err
		}
	case watch.Error:
	default:
		return "", nil, fmt.Errorf("the server sent an event of the unknown type %q", eventType)
	}
	object, err := runtime.Decode(e.general, event.Object.Raw)
	if err != nil {
		return "", nil, fmt.Errorf("decoding the object of a %s event: %w", eventType, err)
	}
	return eventType, object, nil
}

// object decodes an event's object if it's a T.
func (e *eventDecoder[T]) object(raw []byte) (_ runtime.Object, ok bool, err error) {
	object := e.newObject()
	if e.isJSON {
		if err := e.unmarshal(raw, object); err != nil {
			return nil, false, e.unlessTyped(err)
		}
		gvk := object.GetObjectKind().GroupVersionKind()
		if !e.matches(gvk) {
			return nil, false, e.wrongKind(gvk)
		}
		e.complete(object, gvk)
		return object, true, nil
	}
	content, isProtobuf := bytes.CutPrefix(raw, []byte(protobufMagic))
	message, ok := any(object).(protobufMessage)
	if !isProtobuf || !ok {
		return nil, false, nil
	}
	var about runtime.Unknown
	if err := about.Unmarshal(content); err != nil {
		return nil, false, err
	}
	gvk := about.GroupVersionKind()
	if !e.matches(gvk) {
		return nil, false, e.wrongKind(gvk)
	}
	err = message.Unmarshal(about.Raw)
	e.complete(object, gvk)
	return object, true, err
}

// wrongKind is the error for an object of another kind, or nil if the general decoder has a better
// one, because the scheme may know the object's kind.
func (e *eventDecoder[T]) wrongKind(gvk schema.GroupVersionKind) error {
	if gvk.Kind == e.kind {
		return e.wrong(gvk)
	}
	return e.unlessTyped(e.wrong(gvk))
}

// unlessTyped returns nil for typed objects, so that Decode asks the general decoder,
// whose error is better. For the other forms it returns err: the general decoder needs
// a Go type for the kind.
func (e *eventDecoder[T]) unlessTyped(err error) error {
	if e.form == FormTyped {
		return nil
	}
	return err
}
