package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// found is the shortest story of a day that was found.
type found struct {
	day   day
	parts []string // the parts that it needs
	of    int      // how many the day has
	plays int
	gave  bool // there was no time to try everything
	// record is the file with the flight recorder's events, or "".
	record string
}

// shrink leaves out parts of a day, as long as the same promise stays broken without them. It's delta
// debugging: first large pieces, then smaller ones, then each part alone.
func shrink(ctx context.Context, w worker, promise string, patience time.Duration) found {
	ends := time.Now().Add(patience)
	f := found{record: w.record}
	fails := func(parts []string) bool {
		w.only = onlyOf(parts)
		var played day
		w.run(ctx, func(d day) { played = d })
		f.plays++
		if !slices.ContainsFunc(played.broken, func(what string) bool {
			return promiseOf(what) == promise
		}) {
			return false
		}
		f.day = played
		return true
	}
	all := w.only
	w.run(ctx, func(d day) { f.day = d })
	if f.parts = f.day.parts; len(f.parts) == 0 {
		return f // it didn't fail again, or it's no longer than its process
	}
	if all != "" {
		f.parts = strings.Split(all, ",")
	}
	f.of = len(f.parts)
	f.parts, f.gave = minimize(f.parts, fails, func() bool {
		return ctx.Err() == nil && time.Now().Before(ends)
	})
	fails(f.parts) // the recording is that of the last play
	return f
}

// onlyOf is the value of ONLY for some parts: nothing would be all of them.
func onlyOf(parts []string) string { return cmp.Or(strings.Join(parts, ","), "none") }

// minimize returns a subset of parts that fails, in their order, and reports whether it gave up
// early: no part can be left out of the subset, unless goes becomes false before that's known.
func minimize(
	parts []string, fails func([]string) bool, goes func() bool,
) (least []string, gaveUp bool) {
	for size := (len(parts) + 1) / 2; size > 0; {
		left := false
		for at := 0; at < len(parts); {
			if !goes() {
				return parts, true
			}
			end := min(at+size, len(parts))
			without := slices.Concat(parts[:at], parts[end:])
			if fails(without) {
				parts, left = without, true
				continue
			}
			at = end
		}
		if size == 1 && !left {
			break
		}
		size = max(1, min(size, len(parts))/2)
	}
	return parts, false
}

// promiseOf is the promise of a line about a broken one.
func promiseOf(what string) string {
	promise, _, _ := strings.Cut(what, ":")
	return promise
}

// print tells the story.
func (f *found) print(s story, seed uint64, whose string) {
	if f.of == 0 {
		fmt.Println("It can't be shrunk: it doesn't fail each time, or its process dies.")
		return
	}
	fmt.Printf("%d of its %d parts are needed (%d plays", len(f.parts), f.of, f.plays)
	if f.gave {
		fmt.Print("; there was no time to try to leave out more")
	}
	fmt.Printf("):\n\n%s\n\n", strings.Join(f.day.tale, "\n"))
	for _, what := range f.day.broken {
		fmt.Println(what)
	}
	if whose != "" {
		whose = " " + whose + "=1"
	}
	fmt.Printf("\nagain:    make simulate%s CONTROLLER=%s SEED=%d ONLY=%s\n", whose, s.name, seed,
		onlyOf(f.parts))
	fmt.Printf("in X-ray: go run ./cmd/loopwright xray %s\n", f.record)
}
