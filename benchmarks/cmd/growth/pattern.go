package main

import (
	"bytes"
	"fmt"
	"strings"
)

// pattern is the encoding of one object, with gaps for what differs from object to object. All objects are as long as the
// pattern, so the lengths that protobuf writes in front of its messages stay right.
type pattern struct {
	encoded                    []byte
	number, version, namespace []int // where the gaps are
}

const digitsOfNumber = 7

// What an object has where a pattern has gaps.
var (
	anyNumber    = strings.Repeat("N", digitsOfNumber)
	anyVersion   = strings.Repeat("V", 10)
	anyNamespace = strings.Repeat("S", 4)
)

func newPattern(encoded []byte) pattern {
	return pattern{encoded, places(encoded, anyNumber), places(encoded, anyVersion), places(encoded, anyNamespace)}
}

func places(encoded []byte, gap string) (at []int) {
	for from := 0; ; {
		next := bytes.Index(encoded[from:], []byte(gap))
		if next < 0 {
			return at
		}
		at = append(at, from+next)
		from += next + len(gap)
	}
}

// appendTo appends an object. There are a thousand in each namespace, so the order of numbers is that of keys.
func (p pattern) appendTo(to []byte, number int, version int64) []byte {
	begin := len(to)
	to = append(to, p.encoded...)
	object := to[begin:]
	fill(object, p.number, len(anyNumber), int64(number))
	fill(object, p.version, len(anyVersion), version)
	fill(object, p.namespace, len(anyNamespace), int64(number/1000))
	return to
}

// fill writes a number into all gaps of its kind.
func fill(object []byte, gaps []int, width int, value int64) {
	if len(gaps) == 0 {
		return
	}
	first := object[gaps[0] : gaps[0]+width]
	for i := width - 1; i >= 0; i-- {
		first[i] = byte('0' + value%10)
		value /= 10
	}
	for _, at := range gaps[1:] {
		copy(object[at:], first)
	}
}

// namespaceOf and nameOf are an object's.
func namespaceOf(number int) string { return fmt.Sprintf("shop-%04d", number/1000) }

func nameOf(number int) string { return fmt.Sprintf("web-%0*d", digitsOfNumber, number) }
