package configfile

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation"
)

// decoding walks a document, or the value of one flag, and collects all errors.
type decoding struct {
	name     string // of the file or the flag
	problems []error
}

// field stores a value. Its path is used in messages.
type field func(d *decoding, path string, n *yaml.Node)

// fields are the keys that a mapping may have.
type fields map[string]field

func (d *decoding) wrong(n *yaml.Node, path, format string, args ...any) {
	where := d.name
	if n.Line > 0 {
		where = fmt.Sprintf("%s:%d", d.name, n.Line)
	}
	if path != "" {
		where += ": " + path
	}
	d.problems = append(d.problems, fmt.Errorf(where+": "+format, args...))
}

// header checks that the file is one of ours. If it isn't, every other key in it would be reported
// as unknown.
func (d *decoding) header(n *yaml.Node) {
	found := map[string]string{}
	if n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			found[n.Content[i].Value] = n.Content[i+1].Value
		}
	}
	if found["apiVersion"] != APIVersion || found["kind"] != Kind {
		d.wrong(n, "", "apiVersion %q and kind %q; they must be %q and %q",
			found["apiVersion"], found["kind"], APIVersion, Kind)
	}
}

func ignored(*decoding, string, *yaml.Node) {}

// pairs calls a function with each key and value of a mapping.
func (d *decoding) pairs(n *yaml.Node, path string, each func(path string, key, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		d.wrong(n, path, "want keys and values, have %s", shown(n))
		return
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := meant(n.Content[i]), meant(n.Content[i+1])
		if key.Kind != yaml.ScalarNode || key.Value == "" {
			d.wrong(key, path, "want a name before the colon, have %s", shown(key))
			continue
		}
		at := key.Value
		if path != "" {
			at = path + "." + key.Value
		}
		if line, twice := seen[key.Value]; twice {
			d.wrong(key, at, "it is in line %d already", line)
			continue
		}
		seen[key.Value] = key.Line
		each(at, key, value)
	}
}

// meant resolves an alias.
func meant(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// section is a mapping whose keys are known.
func section(known fields) field {
	return func(d *decoding, path string, n *yaml.Node) {
		d.pairs(n, path, func(path string, key, value *yaml.Node) {
			if set, ok := known[key.Value]; ok {
				set(d, path, value)
				return
			}
			d.wrong(key, path, "there is no such setting; there are %s",
				strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		})
	}
}

// entries is a mapping whose keys are names, and whose values all have the same fields.
func entries[V any](to map[string]*V, fieldsOf func(*V) fields) field {
	return func(d *decoding, path string, n *yaml.Node) {
		d.pairs(n, path, func(path string, key, value *yaml.Node) {
			if to[key.Value] == nil {
				to[key.Value] = new(V)
			}
			section(fieldsOf(to[key.Value]))(d, path, value)
		})
	}
}

// scalar returns a value's text if it has one of these tags. A flag's value has no tag, and may be
// any of them.
func (d *decoding) scalar(n *yaml.Node, path, want string, tags ...string) (string, bool) {
	if n.Kind == yaml.ScalarNode && (n.Tag == "" || slices.Contains(tags, n.ShortTag())) {
		return n.Value, true
	}
	d.wrong(n, path, "want %s, have %s", want, shown(n))
	return "", false
}

func text(to *string, check func(string) error) field {
	return func(d *decoding, path string, n *yaml.Node) {
		value, ok := d.scalar(n, path, "a text (in quotes, if it looks like a number)", "!!str")
		if !ok {
			return
		}
		if err := check(value); err != nil {
			d.wrong(n, path, "%q: %w", value, err)
			return
		}
		*to = value
	}
}

func list(to *[]string, check func(string) error) field {
	return func(d *decoding, path string, n *yaml.Node) {
		items := n.Content
		if n.Tag == "" { // a flag's value
			for value := range strings.SplitSeq(n.Value, ",") {
				items = append(items,
					&yaml.Node{Kind: yaml.ScalarNode, Value: strings.TrimSpace(value)})
			}
		} else if n.Kind != yaml.SequenceNode {
			d.wrong(n, path, "want a list, have %s", shown(n))
			return
		} else if len(items) == 0 { // it would be the same as no list
			d.wrong(n, path, "it is empty; leave the key out")
			return
		}
		var values []string
		for i, item := range items {
			value := ""
			text(&value, check)(d, fmt.Sprintf("%s[%d]", path, i), meant(item))
			values = append(values, value)
		}
		*to = values
	}
}

func boolean(to **bool) field {
	return func(d *decoding, path string, n *yaml.Node) {
		const want = "true or false"
		value, ok := d.scalar(n, path, want, "!!bool")
		if !ok {
			return
		}
		parsed, err := strconv.ParseBool(value)
		if err != nil {
			d.wrong(n, path, "want %s, have %q", want, value)
			return
		}
		*to = &parsed
	}
}

func whole(to **int, least int) field {
	return func(d *decoding, path string, n *yaml.Node) {
		want := fmt.Sprintf("a whole number of at least %d", least)
		value, ok := d.scalar(n, path, want, "!!int")
		if !ok {
			return
		}
		parsed, err := strconv.Atoi(value)
		if err != nil || parsed < least {
			d.wrong(n, path, "want %s, have %q", want, value)
			return
		}
		*to = &parsed
	}
}

func number(to **float64) field {
	return func(d *decoding, path string, n *yaml.Node) {
		const want, most = "a number above 0", 1e9
		value, ok := d.scalar(n, path, want, "!!int", "!!float")
		if !ok {
			return
		}
		parsed, _ := strconv.ParseFloat(value, 64) // 0 or infinite if there's an error
		if !(parsed > 0 && parsed <= most) {       // also excludes infinity and NaN
			d.wrong(n, path, "want %s, have %q", want, value)
			return
		}
		*to = &parsed
	}
}

func duration(to **time.Duration, check func(time.Duration) error) field {
	return func(d *decoding, path string, n *yaml.Node) {
		const want = `a duration with its unit, such as "30s" or "5m"`
		value, ok := d.scalar(n, path, want, "!!str")
		if !ok {
			return
		}
		parsed, err := time.ParseDuration(value)
		if err != nil {
			d.wrong(n, path, "want %s, have %q", want, value)
			return
		}
		if err := check(parsed); err != nil {
			d.wrong(n, path, "%q: %w", value, err)
			return
		}
		*to = &parsed
	}
}

// shown is a value as it appears in a message.
func shown(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Kind == yaml.MappingNode:
		return "keys and values"
	case n.ShortTag() == "!!null":
		return "nothing; leave the key out"
	}
	return strconv.Quote(n.Value)
}

// Checks of texts and durations.

func anyLength(time.Duration) error { return nil }

func positive(d time.Duration) error {
	if d <= 0 {
		return fmt.Errorf("it must be longer than 0")
	}
	return nil
}

func notEmpty(value string) error {
	if value == "" {
		return fmt.Errorf("it is empty; leave the key out")
	}
	return nil
}

func namespace(value string) error {
	if wrong := validation.IsDNS1123Label(value); len(wrong) > 0 {
		return fmt.Errorf("no namespace has this name: %s", strings.Join(wrong, "; "))
	}
	return nil
}

func address(value string) error {
	if value == "0" {
		return nil
	}
	_, port, _ := net.SplitHostPort(value) // empty if there's an error
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf(`want host and port, such as "127.0.0.1:8080" or ":8080", or "0" for none`)
	}
	return nil
}
