package informer

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/util/json"
)

// jsonStream finds where the values of a JSON text begin and end, without
// understanding them. It holds one value at a time.
//
// encoding/json's Decoder can do it, too, byte by byte through a state machine. That
// costs as much as the decoding that follows, which checks everything again.
type jsonStream struct {
	in         io.Reader
	buffer     []byte
	start, end int // what is in the buffer and not used yet
}

// streamBuffer is how much is read at once. The buffer grows to the largest value,
// up to mostObject.
const streamBuffer = 64 << 10

func newJSONStream(in io.Reader) *jsonStream {
	return &jsonStream{in: in, buffer: make([]byte, streamBuffer)}
}

// members reads an object and calls member for each name; it reads the value.
func (s *jsonStream) members(member func(name string) error) error {
	return s.sequence('{', '}', func() error {
		text, err := s.value()
		if err != nil {
			return err
		}
		var name string
		if err := json.Unmarshal(text, &name); err != nil {
			return err
		}
		if err := s.expect(':'); err != nil {
			return err
		}
		return member(name)
	})
}

// elements reads an array, or null, and calls element to read each value.
func (s *jsonStream) elements(element func() error) error {
	if c, err := s.peek(); err != nil {
		return err
	} else if c == 'n' {
		text, err := s.value()
		if err == nil && string(text) != "null" {
			err = fmt.Errorf("this is not a JSON list: %.20q where an array was expected", text)
		}
		return err
	}
	return s.sequence('[', ']', element)
}

func (s *jsonStream) sequence(open, shut byte, one func() error) error {
	if err := s.expect(open); err != nil {
		return err
	}
	c, err := s.peek()
	for first := true; err == nil && c != shut; first = false {
		if !first {
			if err = s.expect(','); err != nil {
				return err
			}
		}
		if err = one(); err != nil {
			return err
		}
		c, err = s.peek()
	}
	s.start++
	return err
}

// value returns the next value as text, which is valid until the next call.
func (s *jsonStream) value() ([]byte, error) {
	switch c, err := s.peek(); {
	case err != nil:
		return nil, err
	case c == ',' || c == ':' || c == ']' || c == '}':
		return nil, fmt.Errorf("this is not a JSON list: %q where a value was expected", c)
	}
	depth, inString := 0, false
	for at := s.start; ; at++ {
		if at == s.end {
			used := at - s.start
			if err := s.fill(); err != nil {
				return nil, err
			}
			at = s.start + used
		}
		c := s.buffer[at]
		switch {
		case inString && c == '\\':
			if at+1 == s.end { // the escaped byte must not be taken for a quote
				used := at - s.start
				if err := s.fill(); err != nil {
					return nil, err
				}
				at = s.start + used
			}
			at++
			continue
		case inString && c != '"':
			at += plain(s.buffer[at+1 : s.end])
			continue
		case c == '"':
			if inString = !inString; inString {
				continue
			}
		case c == '{' || c == '[':
			depth++
			continue
		case c == '}' || c == ']':
			if depth--; depth < 0 { // the end of what a number stands in
				return s.take(at), nil
			}
		case depth == 0 && (c == ',' || c == ':' || isSpace(c)):
			return s.take(at), nil
		default:
			continue
		}
		if depth == 0 {
			return s.take(at + 1), nil
		}
	}
}

// plain is how many bytes of a string come before anything special.
func plain(text []byte) int {
	quote := bytes.IndexByte(text, '"')
	if quote < 0 {
		quote = len(text)
	}
	if escape := bytes.IndexByte(text[:quote], '\\'); escape >= 0 {
		return escape
	}
	return quote
}

func (s *jsonStream) take(end int) []byte {
	text := s.buffer[s.start:end]
	s.start = end
	return text
}

// peek skips white space and looks at what comes.
func (s *jsonStream) peek() (byte, error) {
	for {
		for ; s.start < s.end; s.start++ {
			if c := s.buffer[s.start]; !isSpace(c) {
				return c, nil
			}
		}
		if err := s.fill(); err != nil {
			return 0, err
		}
	}
}

func (s *jsonStream) expect(want byte) error {
	c, err := s.peek()
	if err == nil && c != want {
		err = fmt.Errorf("this is not a JSON list: %q where %q was expected", c, want)
	}
	s.start++
	return err
}

// finish reads what follows the last value, which may be white space. A body
// that is not read to its end costs its connection: net/http cannot use it again.
func (s *jsonStream) finish() error {
	for space := 0; space <= streamBuffer; {
		text := s.take(s.end)
		space += len(text)
		for _, c := range text {
			if !isSpace(c) {
				return fmt.Errorf("this is not a JSON list: %q follows its end", c)
			}
		}
		if err := s.fill(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return errors.New("this is not a JSON list: its white space does not end")
}

// fill reads more, and appends it to what is not used yet.
func (s *jsonStream) fill() error {
	if s.start > 0 {
		copy(s.buffer, s.buffer[s.start:s.end])
		s.start, s.end = 0, s.end-s.start
	}
	if s.end == len(s.buffer) {
		if s.end >= mostObject {
			return fmt.Errorf("a JSON value of more than %d bytes is too large", mostObject)
		}
		s.buffer = append(s.buffer, make([]byte, len(s.buffer))...)
	}
	n, err := io.ReadAtLeast(s.in, s.buffer[s.end:], 1)
	s.end += n
	return err
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }
