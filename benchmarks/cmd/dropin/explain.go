package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// reasons is what explained.yaml says: why names of theirs aren't in the drop-in.
type reasons struct {
	Lacks []*reason `yaml:"lacks"`
}

type reason struct {
	Package string   `yaml:"package"`
	Names   []string `yaml:"names"`
	Why     string   `yaml:"why"`

	used []string
}

func readReasons(file string) (*reasons, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	r := &reasons{}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true) // a field that is spelled wrong is an error
	if err := decoder.Decode(r); err != nil && err != io.EOF {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, l := range r.Lacks {
		if l.Package == "" || len(l.Names) == 0 || l.Why == "" {
			return nil, fmt.Errorf("%s: an entry needs package, names and why, and this one has %q, %q and %q", file, l.Package, l.Names, l.Why)
		}
	}
	return r, nil
}

// why returns the reason why a name isn't there, or "".
func (r *reasons) why(in, name string) string {
	for _, l := range r.Lacks {
		if l.Package == in && slices.Contains(l.Names, name) {
			l.used = append(l.used, name)
			return strings.Join(strings.Fields(l.Why), " ")
		}
	}
	return ""
}

// unused lists the reasons that explain nothing.
func (r *reasons) unused() (complaints []string) {
	for _, l := range r.Lacks {
		for _, name := range l.Names {
			if !slices.Contains(l.used, name) {
				complaints = append(complaints, fmt.Sprintf("explained.yaml says why %s.%s can't be forwarded, and it can", l.Package, name))
			}
		}
	}
	return complaints
}
