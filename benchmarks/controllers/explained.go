package controllers

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

//go:embed explained.yaml
var explainedYAML []byte

// Explanation says why a field is not what the originals make of it.
type Explanation struct {
	Field, Scenario, Why string
	Theirs, Ours         *string
	Sometimes            bool // it depends on the moment, and need not be seen in each run

	field, scenario, theirs, ours *regexp.Regexp
}

// Explanations reads explained.yaml.
func Explanations() ([]Explanation, error) { return readExplanations(explainedYAML) }

//go:embed explained-mini.yaml
var explainedMiniYAML []byte

// MiniExplanations reads explained-mini.yaml, which says what mini does not do.
func MiniExplanations() ([]Explanation, error) { return readExplanations(explainedMiniYAML) }

//go:embed explained-rest.yaml
var explainedRestYAML []byte

// RestExplanations reads explained-rest.yaml, which is about the controllers that only mini has.
func RestExplanations() ([]Explanation, error) { return readExplanations(explainedRestYAML) }

func readExplanations(text []byte) ([]Explanation, error) {
	decoder := yaml.NewDecoder(strings.NewReader(string(text)))
	decoder.KnownFields(true)
	var all []Explanation
	if err := decoder.Decode(&all); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading explained.yaml: %w", err)
	}
	for i := range all {
		e := &all[i]
		if e.Field == "" || e.Why == "" {
			return nil, fmt.Errorf("reading explained.yaml: entry %d has no field, or does not say why", i+1)
		}
		for _, one := range []struct {
			to   **regexp.Regexp
			text *string
		}{{&e.field, &e.Field}, {&e.theirs, e.Theirs}, {&e.ours, e.Ours}} {
			if one.text == nil {
				continue
			}
			var err error
			if *one.to, err = regexp.Compile("^(?s:" + *one.text + ")$"); err != nil {
				return nil, fmt.Errorf("reading explained.yaml: entry %d: %w", i+1, err)
			}
		}
		var err error
		if e.scenario, err = regexp.Compile(e.Scenario); err != nil {
			return nil, fmt.Errorf("reading explained.yaml: entry %d: %w", i+1, err)
		}
	}
	return all, nil
}

func (e *Explanation) explains(scenario string, found Found) bool {
	return e.field.MatchString(found.Field()) && e.scenario.MatchString(scenario) &&
		(e.theirs == nil || e.theirs.MatchString(found.Theirs)) && (e.ours == nil || e.ours.MatchString(found.Ours))
}

// Explain takes what is explained out of a report, and notes by what.
func (r *Report) Explain(all []Explanation) {
	r.Found = slices.DeleteFunc(r.Found, func(found Found) bool {
		i := slices.IndexFunc(all, func(e Explanation) bool { return e.explains(r.Scenario.Name, found) })
		if i >= 0 {
			r.Explained[i]++
		}
		return i >= 0
	})
}
