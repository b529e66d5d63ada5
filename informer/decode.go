package informer

import (
	"fmt"
	"io"
	"mime"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
)

// A list is decoded while it arrives, one item after the other. Nobody holds the
// whole answer, and each object is allocated for itself.
//
// client-go reads an answer to its end, decodes it into a []Pod, and hands out
// pointers into that array. Two copies of everything are alive at that moment;
// and afterwards one object that somebody keeps holds on to all of them.

// listDecoder takes the items and what else a list says out of an answer.
type listDecoder[T Object] struct {
	*expected
	list   List[T]
	shared sharedFields
}

// decodeList reads a list from an answer's body and closes it. An answer of a
// type that it does not know is not read; ok is false then.
func (l *ListWatch[T]) decodeList(body io.ReadCloser, mediaType string) (list *List[T], ok bool, err error) {
	base, _, _ := mime.ParseMediaType(mediaType)
	decoder := &listDecoder[T]{expected: l.expected, shared: sharedFields{}}
	switch {
	case base == jsonType:
		err = decoder.json(newJSONStream(body))
	case base == protobufType && isProtobuf[T]():
		err = decoder.protobuf(newProtobufStream(body))
	default:
		return nil, false, nil
	}
	if closing := body.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return nil, true, fmt.Errorf("decoding the answer: %w", noGoodEnd(err))
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
			d.about(&about)
		case "items":
			hasItems, d.list.Items = true, nil
			return in.elements(func() error {
				object := newObject[T]()
				if err := in.decode(object); err != nil {
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
	if kind := schema.FromAPIVersionAndKind(apiVersion, kind); !d.isList(kind) && !(hasItems && d.mayBeList(kind)) {
		return d.wrong(kind)
	}
	return in.finish()
}

func (d *listDecoder[T]) add(item T) {
	d.shared.share(item)
	d.list.Items = append(d.list.Items, item)
}

func (d *listDecoder[T]) about(about *metav1.ListMeta) {
	d.list.ResourceVersion, d.list.Continue = about.ResourceVersion, about.Continue
	d.list.Remaining = about.RemainingItemCount
}

func newObject[T Object]() T {
	return reflect.New(reflect.TypeFor[T]().Elem()).Interface().(T)
}

// decode reads one value into a Go value.
func (s *jsonStream) decode(into any) error {
	value, err := s.value()
	if err != nil {
		return err
	}
	return json.Unmarshal(value, into)
}
