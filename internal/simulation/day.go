package simulation

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// day is what a seed makes of a Story: in each step a mishap may begin, a user acts, and time passes.
// Each of these parts depends on nothing but the seed and the number of its step. So any of them can
// be left out, and the others stay what they were.
type day []step

type step struct {
	mishap *Mishap
	lasts  int           // steps that the mishap lasts
	pause  time.Duration // of the users
}

func (s Story) long() time.Duration {
	if s.Long > 0 {
		return s.Long
	}
	return 2 * Memory
}

// Parts of a step, as in "m3 u3 t3". They come in this order.
const (
	itsMishap = 'm'
	itsUser   = 'u'
	itsTime   = 't'
)

func (s Story) day(seed uint64) day {
	steps := make(day, s.Steps)
	for n := range steps {
		random := rand.New(rand.NewPCG(seed, uint64(2*n+3)))
		steps[n] = step{mishap: s.mishap(random), lasts: 1 + random.IntN(8)}
		if steps[n].pause = s.long(); random.IntN(2) == 0 {
			steps[n].pause = milliseconds(random, 4000)
		}
	}
	return steps
}

// mishap chooses one, or nil.
func (s Story) mishap(random *rand.Rand) *Mishap {
	var chosen Mishap
	switch which := random.IntN(20); {
	case s.Controllers == nil && which < 18:
		all := s.Mishaps(random, oftenOf(random))
		chosen = all[random.IntN(len(all))]
		chosen.Fault.Seed = random.Uint64()
	case which < 11:
		often := oftenOf(random)
		all := general(random, often)
		if random.IntN(2) == 0 {
			all = s.Mishaps(random, often)
		}
		chosen = all[random.IntN(len(all))]
		chosen.Fault.Seed = random.Uint64()
	case which < 13:
		chosen = compacted()
	case which < 18:
		chosen = crashing(random, s.Crashes[random.IntN(len(s.Crashes))])
	default:
		return nil
	}
	if s.Bends != nil {
		chosen.Bends = append(chosen.Bends, s.Bends(chosen)...)
	}
	return &chosen
}

// oftenOf chooses what part of the requests is hit.
func oftenOf(random *rand.Rand) float64 { return []float64{0.1, 0.3, 0.6}[random.IntN(3)] }

// users are the random numbers of what users do in a step; -1 is before the first one, and the number
// of steps after the last.
func users(seed uint64, step int) *rand.Rand {
	return rand.New(rand.NewPCG(seed, uint64(2*step+4)))
}

// parts are the names of all parts of a day.
func (d day) parts() (all []string) {
	for n, s := range d {
		if s.mishap != nil {
			all = append(all, fmt.Sprint(string(itsMishap), n))
		}
		all = append(all, fmt.Sprint(string(itsUser), n), fmt.Sprint(string(itsTime), n))
	}
	return all
}

// kept are the parts of a day that aren't left out; nil is all of them.
type kept map[string]bool

func keep(parts string) kept {
	if parts == "" {
		return nil
	}
	k := kept{}
	for part := range strings.SplitSeq(parts, ",") {
		k[part] = true
	}
	return k
}

func (k kept) has(part rune, step int) bool {
	return k == nil || k[fmt.Sprint(string(part), step)]
}
