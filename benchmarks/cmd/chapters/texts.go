package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// writeTexts measures all chapters, or the one, and then all of them again, so that what slows a machine down for minutes
// hits the two runs at different chapters. Each chapter quotes what both runs agree on.
func writeTexts(out io.Writer, dir string, only int, measure func(chapter int) (*table, error)) error {
	homes, err := filepath.Glob(filepath.Join(dir, "[0-9][0-9]-*"))
	if err == nil && len(homes) == 0 {
		err = fmt.Errorf("%s has no chapters; -write wants the directory in which they are", dir)
	}
	first := map[string]*table{}
	for _, second := range []bool{false, true} {
		for _, home := range homes {
			number, _ := strconv.Atoi(filepath.Base(home)[:2])
			if only != 0 && number != only {
				continue
			}
			t, err2 := measure(number)
			switch {
			case err2 != nil:
				return errors.Join(err, err2)
			case !second:
				first[home] = t
				fmt.Fprintf(out, "chapter %d: measured once\n", number)
			default:
				both, without := agreed(first[home], t)
				fmt.Fprintf(out, "chapter %d: measured twice; %d rows left out\n", number, len(without))
				for _, row := range without {
					fmt.Fprintln(out, "  "+row)
				}
				err = errors.Join(err, os.WriteFile(filepath.Join(home, "testdata", "bench.txt"), []byte(strings.TrimPrefix(both.String(), "\n")), 0o644))
			}
		}
	}
	return err
}

// agreed has the rows on which two runs agree, with the mean of both, and says why the others aren't among them. What's
// compared is how long each took beside the first, as ratios: they don't change with the machine. The time of the first
// says how the cost grows, so it mustn't differ much, either.
func agreed(one, other *table) (both *table, without []string) {
	both = &table{}
	for _, q := range one.questions {
		again := other.question(q.text)
		for _, size := range q.sizes {
			if why := q.disagrees(again, size); why != "" {
				without = append(without, fmt.Sprintf("%s, %s: %s", q.text, size, why))
				continue
			}
			for _, who := range q.who {
				if took, ok := q.took[[2]string{size, who}]; ok {
					both.question(q.text).add(size, who, (took+again.took[[2]string{size, who}])/2)
				}
			}
		}
	}
	return both, without
}

func (q *question) disagrees(again *question, size string) (why string) {
	base := [2]string{size, q.who[0]}
	if one, other := q.took[base], again.took[base]; far(one, other, 1.25) {
		return fmt.Sprintf("%s took %s, and then %s", q.who[0], rounded(one), rounded(other))
	}
	for _, who := range q.who[1:] {
		this := [2]string{size, who}
		if one, other := q.took[this]/q.took[base], again.took[this]/again.took[base]; far(one, other, 1.15) {
			return fmt.Sprintf("%s took %.2f times what %s took, and then %.2f times", who, one, q.who[0], other)
		}
	}
	return ""
}

// far reports whether one is more than this many times the other.
func far(one, other, times float64) bool {
	return math.Max(one, other) > times*math.Min(one, other)
}
