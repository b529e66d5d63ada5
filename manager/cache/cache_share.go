package cache

import (
	"hash/maphash"
	"reflect"
	"slices"
)

// sharer makes equal parts of objects the same part. The pods of a Deployment have the same labels, the same
// resources and the same probes, and each of them has its own copy of all this when it comes from the
// server. What is in a cache is never changed, so one copy is enough.
//
// A part is a map, a slice, or what a pointer points to. It goes from the inside out, so that two containers
// which differ in one field still share the others. Two parts are only taken for equal if
// reflect.DeepEqual says so; the hash finds the candidates.
//
// It is used by one goroutine, the reflector's. (Technique: hash consing, A. P. Ershov, On Programming of
// Arithmetic Operations, 1958.)
type sharer struct {
	seed  maphash.Seed
	kinds map[reflect.Type]*sharedType
	// parts are what was met lately, by hash. It is emptied when it is full: it must not keep alive what no object
	// has any more, and objects that are alike tend to come together.
	parts map[uint64]reflect.Value
}

const maxSharedParts = 4096

// sharedType is what is known about a place in objects: a Go type at the end of a path of fields.
type sharedType struct {
	fields []sharedField // of a struct
	elem   *sharedType   // of a slice or pointer
	tries  int           // how many parts there were
	hits   int           // how many of them were found in the table
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
	place := s.kinds[v.Type()]
	if place == nil {
		place = newSharedType(v.Type().Elem(), nil)
		s.kinds[v.Type()] = place
	}
	s.visit(v.Elem(), place)
}

// newSharedType finds the fields in which there may be parts. inside are the types around this one: a type that
// contains itself, as a JSON schema does in a dozen fields, is followed once.
func newSharedType(t reflect.Type, inside []reflect.Type) *sharedType {
	if slices.Contains(inside, t) {
		return nil
	}
	inside = append(inside, t)
	place := &sharedType{}
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			field := t.Field(i)
			if !field.IsExported() || field.Type.PkgPath() == "time" {
				continue
			}
			switch field.Type.Kind() {
			case reflect.Map, reflect.Slice, reflect.Pointer, reflect.Struct:
				place.fields = append(place.fields, sharedField{i, newSharedType(field.Type, inside)})
			}
		}
	case reflect.Slice, reflect.Pointer:
		place.elem = newSharedType(t.Elem(), inside)
	}
	return place
}

// visit shares the parts inside a value, and then the value, if it is a part.
func (s *sharer) visit(v reflect.Value, place *sharedType) {
	if place == nil {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for _, field := range place.fields {
			s.visit(v.Field(field.at), field.of)
		}
		return
	case reflect.Slice:
		if v.Len() == 0 {
			return
		}
		if v.Type().Elem().Kind() == reflect.Struct {
			for i := range v.Len() {
				s.visit(v.Index(i), place.elem)
			}
		}
	case reflect.Pointer:
		if v.IsNil() {
			return
		}
		if v.Elem().Kind() == reflect.Struct {
			s.visit(v.Elem(), place.elem)
		}
	case reflect.Map:
		if v.Len() == 0 {
			return
		}
	default:
		return
	}
	if !place.isHopeless() {
		s.replace(v, place)
	}
}

// replace sets the part to an equal one, or keeps it for others.
func (s *sharer) replace(v reflect.Value, place *sharedType) {
	place.tries++
	hash := s.hash(v)
	known, ok := s.parts[hash]
	if ok && known.Type() == v.Type() && reflect.DeepEqual(known.Interface(), v.Interface()) {
		place.hits++
		v.Set(known)
		return
	}
	if len(s.parts) >= maxSharedParts {
		clear(s.parts)
	}
	kept := reflect.New(v.Type()).Elem() // v itself is the field of the object, and would keep all of it
	kept.Set(v)
	s.parts[hash] = kept
}

// hash is the same for parts that are equal.
func (s *sharer) hash(v reflect.Value) uint64 {
	var h maphash.Hash
	h.SetSeed(s.seed)
	s.write(&h, v)
	return h.Sum64()
}

func (s *sharer) write(h *maphash.Hash, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		maphash.WriteComparable(h, v.Len())
		_, _ = h.WriteString(v.String())
	case reflect.Struct:
		for i := range v.NumField() {
			s.write(h, v.Field(i))
		}
	case reflect.Slice:
		maphash.WriteComparable(h, v.Len())
		if v.Type().Elem().Kind() == reflect.Uint8 {
			_, _ = h.Write(v.Bytes())
			return
		}
		for i := range v.Len() {
			s.write(h, v.Index(i))
		}
	case reflect.Map: // in no order, so the entries are added up
		sum := uint64(v.Len())
		for entries := v.MapRange(); entries.Next(); {
			sum += s.hash(entries.Key()) ^ 31*s.hash(entries.Value())
		}
		maphash.WriteComparable(h, sum)
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			s.write(h, v.Elem())
		}
	case reflect.Bool:
		maphash.WriteComparable(h, v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		maphash.WriteComparable(h, v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		maphash.WriteComparable(h, v.Uint())
	}
	// What is left, floats among it, is compared and not hashed.
}
