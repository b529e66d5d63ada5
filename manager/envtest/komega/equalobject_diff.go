package komega

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// path leads to a field, in JSON names and in Go names. An element of a list or map is a segment
// like any other: its number, or its key.
type path struct{ json, goNames []string }

func (p path) below(json, goName string) path {
	return path{append(slices.Clip(p.json), json), append(slices.Clip(p.goNames), goName)}
}

// segments splits a path: "a.b[c.d].e" is a, b, c.d and e.
func segments(text string) (all []string) {
	for text != "" {
		end := strings.IndexAny(text, ".[")
		if text[0] == '[' {
			if end = strings.IndexByte(text, ']'); end > 0 {
				all, text = append(all, text[1:end]), strings.TrimPrefix(text[end+1:], ".")
				continue
			}
		}
		if end <= 0 {
			return append(all, text)
		}
		all = append(all, text[:end])
		text = strings.TrimPrefix(text[end:], ".")
	}
	return all
}

func hasPrefix(at, prefix []string) bool {
	return len(at) >= len(prefix) && slices.Equal(at[:len(prefix)], prefix)
}

// difference is a field with different values in the two objects.
type difference struct {
	path          path
	wanted, found string
}

func (d difference) String() string {
	name := ""
	for i, segment := range d.path.json {
		_, err := strconv.Atoi(segment)
		switch {
		case err == nil || strings.ContainsAny(segment, ".[]/\\"):
			name += "[" + segment + "]"
		case i > 0:
			name += "." + segment
		default:
			name = segment
		}
	}
	if name == "" {
		name = "the object"
	}
	return fmt.Sprintf("%s: wanted %s, found %s", name, d.wanted, d.found)
}

// differences compares two values of one type, in the order of the fields, and of maps' keys.
func differences(wanted, found any) []difference {
	var c comparison
	c.compare(path{}, reflect.ValueOf(wanted), reflect.ValueOf(found))
	return c.found
}

type comparison struct{ found []difference }

func (c *comparison) differ(at path, wanted, found reflect.Value) {
	c.found = append(c.found, difference{at, show(wanted), show(found)})
}

func (c *comparison) compare(at path, wanted, found reflect.Value) {
	if wanted.IsValid() != found.IsValid() || wanted.IsValid() && wanted.Type() != found.Type() {
		c.differ(at, wanted, found)
		return
	}
	if !wanted.IsValid() {
		return
	}
	if equal, has := equalMethod(wanted, found); has { // times and quantities compare themselves
		if !equal {
			c.differ(at, wanted, found)
		}
		return
	}
	switch wanted.Kind() {
	case reflect.Pointer, reflect.Interface:
		if wanted.IsNil() || found.IsNil() {
			if wanted.IsNil() != found.IsNil() {
				c.differ(at, wanted, found)
			}
			return
		}
		c.compare(at, wanted.Elem(), found.Elem())
	case reflect.Struct:
		c.structs(at, wanted, found)
	case reflect.Map:
		c.maps(at, wanted, found)
	case reflect.Slice, reflect.Array:
		c.lists(at, wanted, found)
	default:
		if !reflect.DeepEqual(wanted.Interface(), found.Interface()) {
			c.differ(at, wanted, found)
		}
	}
}

func (c *comparison) structs(at path, wanted, found reflect.Value) {
	for i := range wanted.NumField() {
		field := wanted.Type().Field(i)
		if !field.IsExported() {
			continue
		}
		json, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		below := at.below(json, field.Name)
		if json == "" {
			below.json = at.json // an inlined struct has no name of its own in JSON
			if !field.Anonymous && !strings.Contains(options, "inline") {
				below.json = append(slices.Clip(at.json), field.Name)
			}
		}
		c.compare(below, wanted.Field(i), found.Field(i))
	}
}

// maps treats a missing key and a key with an empty value as different.
func (c *comparison) maps(at path, wanted, found reflect.Value) {
	if wanted.IsNil() != found.IsNil() {
		c.differ(at, wanted, found)
		return
	}
	keys := wanted.MapKeys()
	for _, key := range found.MapKeys() {
		if !wanted.MapIndex(key).IsValid() {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b reflect.Value) int {
		return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
	})
	for _, key := range keys {
		name := fmt.Sprint(key)
		c.compare(at.below(name, name), wanted.MapIndex(key), found.MapIndex(key))
	}
}

func (c *comparison) lists(at path, wanted, found reflect.Value) {
	if wanted.Kind() == reflect.Slice && wanted.IsNil() != found.IsNil() {
		c.differ(at, wanted, found)
		return
	}
	element := func(list reflect.Value, i int) reflect.Value {
		if i < list.Len() {
			return list.Index(i)
		}
		return reflect.Value{}
	}
	for i := range max(wanted.Len(), found.Len()) {
		c.compare(at.below(strconv.Itoa(i), strconv.Itoa(i)), element(wanted, i), element(found, i))
	}
}

// equalMethod calls a.Equal(b), if the type has such a method.
func equalMethod(a, b reflect.Value) (equal, has bool) {
	if a.Kind() == reflect.Interface || a.Kind() == reflect.Pointer && (a.IsNil() || b.IsNil()) {
		return false, false
	}
	method := a.MethodByName("Equal")
	if !method.IsValid() {
		return false, false
	}
	t := method.Type()
	if t.NumIn() != 1 || t.NumOut() != 1 || t.Out(0).Kind() != reflect.Bool ||
		!b.Type().AssignableTo(t.In(0)) {
		return false, false
	}
	return method.Call([]reflect.Value{b})[0].Bool(), true
}

func show(v reflect.Value) string {
	switch {
	case !v.IsValid():
		return "nothing"
	case v.Kind() == reflect.Pointer && !v.IsNil():
		return show(v.Elem())
	case v.Kind() == reflect.String:
		return strconv.Quote(v.String())
	}
	return fmt.Sprintf("%+v", v)
}
