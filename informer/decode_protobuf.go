package informer

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// protobufMessage is what the types of k8s.io/api have; those of custom
// resources do not.
type protobufMessage interface{ Unmarshal([]byte) error }

func isProtobuf[T Object]() bool {
	var none T
	_, ok := any(none).(protobufMessage)
	return ok
}

// protobufMagic is how a Kubernetes object in protobuf begins. An envelope
// follows (runtime.Unknown), and in it, as its field 2, the object.
const protobufMagic = "k8s\x00"

// The numbers of the fields that we read. All generated lists have these two.
const (
	envelopeType  = 1
	envelopeBytes = 2
	listMetadata  = 1
	listItems     = 2
)

// protobuf walks through the envelope and the list in it.
func (d *listDecoder[T]) protobuf(in *protobufStream) error {
	magic := make([]byte, len(protobufMagic))
	if _, err := io.ReadFull(in, magic); err != nil {
		return err
	}
	if string(magic) != protobufMagic {
		return errors.New("this is no Kubernetes object in protobuf")
	}
	kind := ""
	return in.fields(-1, func(field int, size int64) error {
		switch field {
		case envelopeType:
			var about runtime.TypeMeta
			if err := in.decode(size, &about); err != nil {
				return err
			}
			kind = about.Kind
		case envelopeBytes:
			if kind != d.kind+"List" {
				return d.wrong(kind)
			}
			return in.fields(size, func(field int, size int64) error { return d.protobufField(in, field, size) })
		default:
			return in.skip(size)
		}
		return nil
	})
}

func (d *listDecoder[T]) protobufField(in *protobufStream, field int, size int64) error {
	switch field {
	case listMetadata:
		var about metav1.ListMeta
		if err := in.decode(size, &about); err != nil {
			return err
		}
		d.about(&about)
	case listItems:
		object := newObject[T]()
		if err := in.decode(size, any(object).(protobufMessage)); err != nil {
			return err
		}
		d.add(object)
	default:
		return in.skip(size)
	}
	return nil
}

// protobufStream reads fields of a message. It holds one field at a time.
type protobufStream struct {
	*bufio.Reader
	read   int64 // how many bytes were read
	buffer []byte
}

func newProtobufStream(in io.Reader) *protobufStream {
	return &protobufStream{Reader: bufio.NewReaderSize(in, streamBuffer)}
}

// ReadByte counts, for binary.ReadUvarint.
func (s *protobufStream) ReadByte() (byte, error) {
	s.read++
	return s.Reader.ReadByte()
}

// fields calls field for each field of a message of so many bytes, or until the
// end if size is negative. All that we meet hold bytes; a number is skipped.
func (s *protobufStream) fields(size int64, field func(number int, size int64) error) error {
	for end := s.read + size; size < 0 || s.read < end; {
		if _, err := s.Peek(1); size < 0 && errors.Is(err, io.EOF) {
			return nil
		}
		tag, err := binary.ReadUvarint(s)
		if err != nil {
			return err
		}
		length, err := binary.ReadUvarint(s) // or a number, which this has skipped
		switch wire := tag & 7; {
		case err != nil:
			return err
		case wire == 0:
			continue
		case wire != 2:
			return fmt.Errorf("a field of protobuf wire type %d was not expected", wire)
		case length > mostObject && (size < 0 || length > uint64(size)):
			return fmt.Errorf("a field of %d bytes does not fit", length)
		}
		if err := field(int(tag>>3), int64(length)); err != nil {
			return err
		}
	}
	return nil
}

// mostObject bounds what is allocated for one object because the server says so.
// etcd takes 1.5 MB by default.
const mostObject = 256 << 20

// decode reads a field into a message. The buffer is used again: generated
// messages copy what they keep.
func (s *protobufStream) decode(size int64, into protobufMessage) error {
	if size > mostObject {
		return fmt.Errorf("an object of %d bytes is too large", size)
	}
	if int64(cap(s.buffer)) < size {
		s.buffer = make([]byte, size+size/2)
	}
	n, err := io.ReadFull(s, s.buffer[:size])
	if s.read += int64(n); err != nil {
		return err
	}
	return into.Unmarshal(s.buffer[:size])
}

func (s *protobufStream) skip(size int64) error {
	n, err := io.CopyN(io.Discard, s, size)
	s.read += n
	return err
}
