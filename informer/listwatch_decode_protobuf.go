package informer

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// protobufMessage is implemented by the types of k8s.io/api, but not by those of
// custom resources.
type protobufMessage interface{ Unmarshal([]byte) error }

// protobufMagic is how a Kubernetes object in protobuf begins. An envelope (runtime.Unknown)
// follows, with the object as its field 2.
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
		return errors.New("this is not a Kubernetes object in protobuf")
	}
	var gvk schema.GroupVersionKind
	seen := false
	err := in.fields(-1, func(field int, size int64) error {
		switch field {
		case envelopeType:
			var about runtime.TypeMeta
			if err := in.decode(size, &about); err != nil {
				return err
			}
			gvk = schema.FromAPIVersionAndKind(about.APIVersion, about.Kind)
		case envelopeBytes:
			if !d.isList(gvk) {
				return d.wrong(gvk)
			}
			seen = true
			return in.fields(size, func(field int, size int64) error {
				return d.protobufField(in, field, size)
			})
		default:
			return in.skip(size)
		}
		return nil
	})
	if err == nil && !seen {
		err = io.ErrUnexpectedEOF
	}
	d.completeItems(gvk)
	return err
}

func (d *listDecoder[T]) protobufField(in *protobufStream, field int, size int64) error {
	switch field {
	case listMetadata:
		var about metav1.ListMeta
		if err := in.decode(size, &about); err != nil {
			return err
		}
		d.setMetadata(&about)
	case listItems:
		object := d.newObject()
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

// streamBuffer is how many bytes are read at once.
const streamBuffer = 64 << 10

// ReadByte counts, for binary.ReadUvarint.
func (s *protobufStream) ReadByte() (byte, error) {
	s.read++
	return s.Reader.ReadByte()
}

// fields calls field for each field of a message of size bytes, or until the end if
// size is negative. All fields that we know hold bytes; it skips numbers.
func (s *protobufStream) fields(size int64, field func(number int, size int64) error) error {
	end := s.read + size
	if size < 0 {
		end = math.MaxInt64
	}
	for s.read < end {
		if _, err := s.Peek(1); size < 0 && errors.Is(err, io.EOF) {
			return nil
		}
		tag, err := binary.ReadUvarint(s)
		if err != nil {
			return err
		}
		number, wireType := tag>>3, tag&7
		if number == 0 || number <= listItems && wireType != 2 { // to skip it would lose an item
			return fmt.Errorf("a field is damaged: it has number %d and wire type %d", number, wireType)
		}
		switch wireType {
		case 0:
			_, err = binary.ReadUvarint(s)
		case 1:
			err = s.skip(8)
		case 2:
			var length uint64
			if length, err = binary.ReadUvarint(s); err != nil {
				break
			}
			if left := end - s.read; left < 0 || length > uint64(left) {
				return fmt.Errorf("a field of %d bytes does not fit into its message", length)
			}
			err = field(int(number), int64(length))
		case 5:
			err = s.skip(4)
		default:
			err = fmt.Errorf("a field of protobuf wire type %d was not expected", wireType)
		}
		if err != nil {
			return err
		}
	}
	if s.read > end {
		return errors.New("a field does not fit into its message")
	}
	return nil
}

// mostObject bounds the memory for one object, in bytes, of a list or an event.
// It's where apimachinery's decoder of watches stops; etcd takes 1.5 MB by
// default. A list as a whole has no limit.
const mostObject = 16 << 20

// decode reads a field into a message. It reuses the buffer: generated messages copy
// what they keep.
func (s *protobufStream) decode(size int64, into protobufMessage) error {
	if size > mostObject {
		return fmt.Errorf("an object of %d bytes is too large", size)
	}
	for have := int64(0); have < size; {
		if int64(len(s.buffer)) == have { // it grows as the bytes come, whatever size says
			s.buffer = append(s.buffer, make([]byte, min(size, max(have, streamBuffer)))...)
		}
		n, err := io.ReadFull(s, s.buffer[have:min(size, int64(len(s.buffer)))])
		have += int64(n)
		if s.read += int64(n); err != nil {
			return err
		}
	}
	return into.Unmarshal(s.buffer[:size])
}

func (s *protobufStream) skip(size int64) error {
	n, err := io.CopyN(io.Discard, s, size)
	s.read += n
	return err
}
