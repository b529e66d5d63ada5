package cache

import (
	"bytes"
	"hash/maphash"
	"maps"
	"math/bits"
	"reflect"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// sharer makes equal parts of objects the same part. The pods of a Deployment have the same labels, the same
// resources and the same probes, and each of them has its own copy of all this when it comes from the
// server. What is in a cache is never changed, so one copy is enough.
//
// A part is a map, a slice, or what a pointer points to. It goes from the inside out, so that two containers
// which differ in one field still share the others, and what is inside two equal parts is mostly the same already
// when these are compared.
//
// Objects that are alike tend to come together: the first candidate is the part that the last object had in this
// place. Only if that differs is the part hashed, and looked for in a table.
//
// It is used by one goroutine, the reflector's. (Technique: hash consing, A. P. Ershov, On Programming of
// Arithmetic Operations, 1958.)
type sharer struct {
	seed  maphash.Seed
	kinds map[reflect.Type]*sharedType
	// parts are what was met lately, by hash. It is emptied when it is full: it must not keep alive what no object
	// has any more.
	parts map[uint64]reflect.Value
}

const maxSharedParts = 4096

// sharedType is what is known about a place in objects: a Go type at the end of a path of fields.
type sharedType struct {
	fields []sharedField // of a struct
	elem   *sharedType   // of a slice or pointer; nil if there are no parts in it
	last   reflect.Value // the part that was here last
	tries  int           // how many parts there were
	hits   int           // how many of them were known
}

type sharedField struct {
	at int
	of *sharedType
}

// A place whose parts are nearly all different, such as the statuses of containers, is given up. Its parts are
// still looked into.
const (
	sharingTrial   = 512
	leastHitsOfAll = 8 // one in so many
)

func (p *sharedType) isHopeless() bool {
	return p.tries >= sharingTrial && p.hits*leastHitsOfAll < p.tries
}

func newSharer() *sharer {
	return &sharer{seed: maphash.MakeSeed(), kinds: map[reflect.Type]*sharedType{}, parts: map[uint64]reflect.Value{}}
}

// share replaces parts of the object, a pointer to a struct, by equal ones of earlier objects.
func (s *sharer) share(object any) {
	v := reflect.ValueOf(object)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return
	}
	place, known := s.kinds[v.Type()]
	if !known {
		place = newSharedType(v.Type().Elem(), nil)
		s.kinds[v.Type()] = place
	}
	if place != nil {
		s.visit(v.Elem(), place)
	}
}

// newSharedType finds the fields in which there may be parts, and is nil if there are none. inside are the types
// around this one: a type that contains itself, as a JSON schema does in a dozen fields, is followed once.
//
// A field set of managedFields may be in other objects already, because the decoder shares them. So it is taken as a
// whole: nothing may be written into it.
func newSharedType(t reflect.Type, inside []reflect.Type) *sharedType {
	if slices.Contains(inside, t) || t.PkgPath() == "time" || t == reflect.TypeFor[metav1.FieldsV1]() {
		return nil
	}
	inside = append(inside, t)
	switch t.Kind() {
	case reflect.Struct:
		place := &sharedType{}
		for i := range t.NumField() {
			if field := t.Field(i); field.IsExported() {
				if of := newSharedType(field.Type, inside); of != nil {
					place.fields = append(place.fields, sharedField{i, of})
				}
			}
		}
		if len(place.fields) > 0 {
			return place
		}
	case reflect.Slice:
		return &sharedType{elem: newSharedType(t.Elem(), inside)}
	case reflect.Pointer:
		if isWorthSharing(t.Elem()) {
			return &sharedType{elem: newSharedType(t.Elem(), inside)}
		}
	case reflect.Map:
		return &sharedType{}
	}
	return nil
}

// isWorthSharing is false for numbers: a pointer to one of them saves no more than it takes.
func isWorthSharing(t reflect.Type) bool {
	return t.Kind() == reflect.Struct || t.Kind() == reflect.String
}

// visit shares the parts inside a value, and then the value, if it is a part.
func (s *sharer) visit(v reflect.Value, place *sharedType) {
	switch v.Kind() {
	case reflect.Struct:
		for _, field := range place.fields {
			s.visit(v.Field(field.at), field.of)
		}
		return
	case reflect.Pointer:
		if v.IsNil() {
			return
		}
		if place.elem != nil {
			s.visit(v.Elem(), place.elem)
		}
	default: // a slice or a map
		if v.Len() == 0 {
			return
		}
		if place.elem != nil {
			for i := range v.Len() {
				s.visit(v.Index(i), place.elem)
			}
		}
	}
	if !place.isHopeless() {
		s.replace(v, place)
	}
}

// replace sets the part to an equal one, or keeps it for others.
func (s *sharer) replace(v reflect.Value, place *sharedType) {
	place.tries++
	if place.last.IsValid() && same(place.last, v) {
		place.hits++
		v.Set(place.last)
		return
	}
	hash := s.hash(v)
	if known, ok := s.parts[hash]; ok && known.Type() == v.Type() && same(known, v) {
		place.hits++
		place.last = known
		v.Set(known)
		return
	}
	if len(s.parts) >= maxSharedParts {
		clear(s.parts)
	}
	kept := reflect.New(v.Type()).Elem() // v itself is the field of the object, and would keep all of it
	kept.Set(v)
	place.last, s.parts[hash] = kept, kept
}

// hash is the same for parts that are equal.
func (s *sharer) hash(v reflect.Value) uint64 {
	switch v.Kind() {
	case reflect.String:
		return maphash.String(s.seed, v.String())
	case reflect.Struct:
		var hash uint64
		for i := range v.NumField() {
			hash = mixed(hash, s.hash(v.Field(i)))
		}
		return hash
	case reflect.Slice:
		if isBytes(v) {
			return maphash.Bytes(s.seed, v.Bytes())
		}
		hash := uint64(v.Len())
		for i := range v.Len() {
			hash = mixed(hash, s.hash(v.Index(i)))
		}
		return hash
	case reflect.Map: // in no order, so the entries are added up
		sum := uint64(v.Len())
		if texts, ok := textsOf(v); ok {
			for key, value := range texts {
				sum += mixed(maphash.String(s.seed, key), maphash.String(s.seed, value))
			}
			return sum
		}
		for entries := v.MapRange(); entries.Next(); {
			sum += mixed(s.hash(entries.Key()), s.hash(entries.Value()))
		}
		return sum
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() && v.Type() != location {
			return mixed(1, s.hash(v.Elem()))
		}
	case reflect.Bool:
		if v.Bool() {
			return 1
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return uint64(v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return v.Uint()
	}
	return 0 // What is left, floats among it, is compared and not hashed.
}

// mixed is a hash of two numbers in this order. (Technique: a wide product, folded; Wang Yi, wyhash, 2019.)
func mixed(hash, next uint64) uint64 {
	high, low := bits.Mul64(hash^0x9e3779b97f4a7c15, next^0xd1b54a32d192ed03)
	return high ^ low
}

// same says of two values of one type what reflect.DeepEqual says, and faster: it does not expect that a value
// contains itself, which nothing does that came from a server.
func same(a, b reflect.Value) bool {
	switch a.Kind() {
	case reflect.String:
		return a.String() == b.String()
	case reflect.Bool:
		return a.Bool() == b.Bool()
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return a.Int() == b.Int()
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return a.Uint() == b.Uint()
	case reflect.Float32, reflect.Float64:
		return a.Float() == b.Float()
	case reflect.Struct:
		for i := range a.NumField() {
			if !same(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Interface:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() == b.IsNil()
		}
		return a.Elem().Type() == b.Elem().Type() && same(a.Elem(), b.Elem())
	case reflect.Pointer:
		if a.UnsafePointer() == b.UnsafePointer() {
			return true
		}
		return !a.IsNil() && !b.IsNil() && a.Type() != location && same(a.Elem(), b.Elem())
	case reflect.Slice:
		if a.Len() != b.Len() || a.IsNil() != b.IsNil() {
			return false
		}
		return a.UnsafePointer() == b.UnsafePointer() || sameElements(a, b)
	case reflect.Map:
		if a.Len() != b.Len() || a.IsNil() != b.IsNil() {
			return false
		}
		return a.UnsafePointer() == b.UnsafePointer() || sameEntries(a, b)
	}
	return false // an array, a function, a channel: no object of a server has one
}

func sameElements(a, b reflect.Value) bool {
	if isBytes(a) {
		return bytes.Equal(a.Bytes(), b.Bytes())
	}
	for i := range a.Len() {
		if !same(a.Index(i), b.Index(i)) {
			return false
		}
	}
	return true
}

func sameEntries(a, b reflect.Value) bool {
	if texts, ok := textsOf(a); ok {
		others, _ := textsOf(b)
		return maps.Equal(texts, others)
	}
	for entries := a.MapRange(); entries.Next(); {
		other := b.MapIndex(entries.Key())
		if !other.IsValid() || !same(entries.Value(), other) {
			return false
		}
	}
	return true
}

// A zone is the same if its address is: nobody looks inside.
var location = reflect.TypeFor[*time.Location]()

func isBytes(slice reflect.Value) bool { return slice.Type().Elem().Kind() == reflect.Uint8 }

// textsOf is for the most frequent kind of map, which needs no reflection.
func textsOf(v reflect.Value) (map[string]string, bool) {
	if !v.CanInterface() {
		return nil, false
	}
	texts, ok := v.Interface().(map[string]string)
	return texts, ok
}
