// Package csvfile keeps figures in CSV files that begin with where and when they were measured, in lines
// with a #.
package csvfile

import (
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/loopwright/loopwright/benchmarks/internal/machine"
)

// Save writes a file of facts, the names of the columns, and lines. The file has all of that, or what
// it had before: half a table would look like one of which the rest wasn't measured.
func Save(file string, facts []machine.Fact, columns []string, lines [][]string) error {
	var text strings.Builder
	for _, f := range facts {
		fmt.Fprintf(&text, "# %s: %s\n", f.Name, f.Value)
	}
	to := csv.NewWriter(&text)
	if err := to.Write(columns); err != nil {
		return err
	}
	if err := to.WriteAll(lines); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(file+".new", []byte(text.String()), 0o644); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

// Load reads what Save has written, without the names of the columns. If there's no file, there's
// nothing in it.
func Load(file string, columns []string) (facts []machine.Fact, lines [][]string, err error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	for line := range strings.Lines(string(text)) {
		if line, is := strings.CutPrefix(strings.TrimSpace(line), "# "); is {
			name, value, _ := strings.Cut(line, ": ")
			facts = append(facts, machine.Fact{Name: name, Value: value})
		}
	}
	from := csv.NewReader(strings.NewReader(string(text)))
	from.Comment, from.FieldsPerRecord = '#', len(columns)
	lines, err = from.ReadAll()
	if err != nil {
		return nil, nil, fmt.Errorf("reading %s: %w", file, err)
	}
	if len(lines) == 0 {
		return facts, nil, nil
	}
	return facts, lines[1:], nil
}
