package sharding

import (
	"cmp"
	"maps"
	"slices"
)

// plan says who should have each range. It's a pure function, so all replicas that know the same
// come to the same plan, and nobody has to be asked.
//
//   - A range stays where it is unless its holder has gone or has too much.
//   - What's free goes to those who have least, in runs of neighbours, because a selector of many
//     runs is long.
//   - Whoever has most gives to whoever has least, from the end of what it has, as long as that makes
//     the difference smaller, and the difference is worth a handover.
//
// weights say how much work each range is; nil means that all are the same. alive may come in any
// order. If nobody is alive, all ranges are free.
func plan(holders, alive []string, weights []int) []string {
	p := planning{weights: weights, want: slices.Clone(holders), load: map[string]int{}}
	if p.weights == nil {
		p.weights = slices.Repeat([]int{1}, len(holders))
	}
	for _, member := range alive {
		p.load[member] = 0
	}
	for r, holder := range p.want {
		if _, is := p.load[holder]; is {
			p.load[holder] += p.weights[r]
		} else {
			p.want[r] = ""
		}
		p.total += p.weights[r]
	}
	if len(alive) > 0 {
		p.fill()
		for p.level() {
		}
	}
	return p.want
}

type planning struct {
	weights []int
	want    []string
	load    map[string]int // of each member
	total   int
}

func (p *planning) give(r int, to string) {
	if from := p.want[r]; from != "" {
		p.load[from] -= p.weights[r]
	}
	p.want[r] = to
	p.load[to] += p.weights[r]
}

// members returns those with the least load first; equal ones are in the order of their names.
func (p *planning) members() []string {
	return slices.SortedFunc(maps.Keys(p.load), func(a, b string) int {
		return cmp.Or(p.load[a]-p.load[b], cmp.Compare(a, b))
	})
}

// fill gives the free ranges away.
func (p *planning) fill() {
	target, to := p.total/len(p.load), p.members()[0]
	for r, holder := range p.want {
		if holder != "" {
			continue
		}
		if p.load[to] > 0 && p.load[to]+p.weights[r] > target {
			to = p.members()[0]
		}
		p.give(r, to)
	}
}

// level moves ranges from the member with the highest load to the one with the lowest, and reports
// whether it has.
func (p *planning) level() bool {
	members := p.members()
	from, to := members[len(members)-1], members[0]
	difference := p.load[from] - p.load[to]
	if difference <= p.total/len(members)/worthwhile {
		return false
	}
	surplus := p.load[from] - (p.total+len(members)-1)/len(members)
	moved, along := 0, []int(nil) // ranges without any load go with those that follow them
	for r := len(p.want) - 1; r >= 0; r-- {
		if p.want[r] != from {
			continue
		}
		w := p.weights[r]
		switch {
		case w == 0:
			along = append(along, r)
			continue
		case 2*(moved+w) <= difference && moved+w <= surplus, moved == 0 && w < difference:
		case moved > 0:
			return true
		default:
			along = nil
			continue // too heavy: a lighter one may do
		}
		for _, r := range append(along, r) {
			p.give(r, to)
		}
		moved, along = moved+w, nil
	}
	return moved > 0
}

// worthwhile: a difference of less than this part of the mean load isn't worth a handover.
const worthwhile = 8
