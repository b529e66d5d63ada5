package main

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/perf/benchfmt"
)

// table has the figures of a chapter's questions, in the order in which they were measured.
type table struct{ questions []question }

type question struct {
	text  string
	sizes []string
	who   []string
	took  map[[2]string]float64 // seconds, by size and who
}

// add takes the results of go test. If who isn't empty, that's their column.
func (t *table) add(output []byte, who string) error {
	results := benchfmt.NewReader(bytes.NewReader(output), "go test")
	for results.Scan() {
		result, ok := results.Result().(*benchfmt.Result)
		if !ok {
			continue
		}
		took, ok := result.Value("sec/op")
		if !ok {
			return fmt.Errorf("%s has no time", result.Name)
		}
		_, parts := result.Name.Parts()
		if len(parts) > 0 && parts[len(parts)-1][0] == '-' {
			parts = parts[:len(parts)-1] // the number of processors
		}
		if len(parts) != 3 {
			return fmt.Errorf("%s isn't question/size/who", result.Name)
		}
		text, size, name := words(parts[0]), words(parts[1]), words(parts[2])
		t.question(text).add(size, cmp.Or(who, name), took)
	}
	return results.Err()
}

// words undoes what testing does to a benchmark's name.
func words(part []byte) string {
	return strings.ReplaceAll(strings.TrimPrefix(string(part), "/"), "_", " ")
}

func (t *table) question(text string) *question {
	i := slices.IndexFunc(t.questions, func(q question) bool { return q.text == text })
	if i < 0 {
		i = len(t.questions)
		t.questions = append(t.questions, question{text: text, took: map[[2]string]float64{}})
	}
	return &t.questions[i]
}

func (q *question) add(size, who string, took float64) {
	if !slices.Contains(q.sizes, size) {
		q.sizes = append(q.sizes, size)
	}
	if !slices.Contains(q.who, who) {
		q.who = append(q.who, who)
	}
	q.took[[2]string{size, who}] = took
}

// rounded has two digits: two runs don't agree on more.
func rounded(seconds float64) time.Duration {
	unit := math.Pow(10, math.Floor(math.Log10(seconds))-1)
	return time.Duration(math.Round(math.Round(seconds/unit) * unit * float64(time.Second)))
}

var trailing = regexp.MustCompile(` +\n`)

// String has a block for each question. What wasn't measured is empty.
func (t *table) String() string {
	var text strings.Builder
	for _, q := range t.questions {
		w := tabwriter.NewWriter(&text, 0, 0, 3, ' ', tabwriter.AlignRight)
		fmt.Fprintf(&text, "\n%s\n", q.text)
		fmt.Fprintf(w, "\t%s\t\n", strings.Join(q.who, "\t"))
		for _, size := range q.sizes {
			fmt.Fprint(w, size, "\t")
			for _, who := range q.who {
				if took, ok := q.took[[2]string{size, who}]; ok {
					fmt.Fprint(w, rounded(took))
				}
				fmt.Fprint(w, "\t")
			}
			fmt.Fprintln(w)
		}
		w.Flush()
	}
	return trailing.ReplaceAllString(text.String(), "\n")
}
