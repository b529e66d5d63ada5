package mutants

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
)

// check proves that a switch and a real change mean the same: it makes n of the mistakes as
// plain source code, compiles each alone, and runs the same tests. It returns how
// many verdicts differ.
func (l *lab) check(ctx context.Context, outcomes []Outcome, n int, random *rand.Rand, w io.Writer) (differ int, err error) {
	var candidates []Outcome
	last := 0
	for _, o := range outcomes {
		last = max(last, o.ID)
		if o.verdict != uncovered && !o.WholeOnly {
			candidates = append(candidates, o)
		}
	}
	random.Shuffle(len(candidates), func(i, k int) { candidates[i], candidates[k] = candidates[k], candidates[i] })
	for _, o := range candidates[:min(n, len(candidates))] {
		binary, err := compile(ctx, l.root, l.dir, l.plain(o.Mutant, last), l.work, "plain")
		if err != nil {
			return differ, fmt.Errorf("compiling %v as plain source: %w", o.Mutant, err)
		}
		v, err := l.try(ctx, binary, 0, o.tests)
		os.Remove(binary)
		if err != nil {
			return differ, err
		}
		word := "same"
		if (v == survived) != (o.verdict == survived) {
			word = "DIFFERENT"
			differ++
		}
		fmt.Fprintf(w, "  check: %v: %s behind its switch, %s as source: %s\n", o.Mutant, o.verdict, v, word)
	}
	return differ, nil
}
