package informer

import (
	"fmt"
	"io"
	"mime"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
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
	list     List[T]
	interned internedFields
}

// decodeList reads a list from an answer's body and closes it. It does not read a
// media type that it does not know, and returns ok false.
func (l *ListWatch[T]) decodeList(body io.ReadCloser, mediaType string) (list *List[T], ok bool, err error) {
	base, _, _ := mime.ParseMediaType(mediaType)
	decoder := &listDecoder[T]{objectType: l.objectType, interned: internedFields{}}
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
	d.interned.intern(item)
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
