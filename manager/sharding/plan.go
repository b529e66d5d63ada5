package sharding

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// plan says who should have which range. It's a pure function, so all replicas that know the same
// come to the same plan, and nobody has to be asked.
//
// With the namespaces n1 to n6, which a has, and a new member b, the plan is that a keeps n1 to n3
// and b gets n4 to n6: the bound lies where a namespace is, wherever that may be. FNV-1a hardly
// moves the highest bits for the last letters of a name, so ns-000 to ns-999 lie in 17 of 1,024
// equal ranges, and with bounds at equal distances one of two members would have all of them.
//
//   - A namespace stays where it is unless its holder has gone or has too much.
//   - What's free goes to its neighbours as long as they've less than their share, and then to
//     those who have least.
//   - Whoever has most gives to whoever has least, if the difference is worth a handover.
//   - All that so that a member's ranges are few, because a selector of many ranges is long: look
//     at move.
//
// numbers are those of the known namespaces, ascending, and alive may come in any order. If nobody
// is alive, everything is free.
func plan(runs []run, alive []string, numbers []uint64) []run {
	p := planning{load: map[string]int{}}
	for _, member := range alive {
		p.load[member] = 0
	}
	for _, step := range stepsBetween(slices.Concat(bounds(runs), numbers)) {
		next := piece{from: step.First, holder: holderOf(runs, step.First)}
		if _, is := slices.BinarySearch(numbers, step.First); is {
			next.weight = 1
		}
		if _, is := p.load[next.holder]; is {
			p.load[next.holder] += next.weight
		} else {
			next.holder = ""
		}
		p.total += next.weight
		p.pieces = append(p.pieces, next)
	}
	if len(alive) > 0 {
		p.fill()
		for p.even() {
		}
	}
	return p.runs()
}

// unknown are the numbers to plan with if we don't know the namespaces: as if there were many at
// equal distances.
var unknown = func() (numbers []uint64) {
	const many = 1024
	for i := range uint64(many) {
		numbers = append(numbers, i*(math.MaxUint64/many+1))
	}
	return numbers
}()

// numbersOf returns those of namespaces. The empty one is always among them, because a controller may
// have requests without a namespace.
func numbersOf(namespaces []string) []uint64 {
	numbers := []uint64{hashOf("")}
	for _, namespace := range namespaces {
		numbers = append(numbers, hashOf(namespace))
	}
	slices.Sort(numbers)
	return slices.Compact(numbers)
}

// piece is all numbers from one up to the next piece's. If there's a namespace, it's at the beginning.
type piece struct {
	from   uint64
	weight int // 1 if there's a namespace, and 0 otherwise
	holder string
}

type planning struct {
	pieces []piece
	load   map[string]int // the number of namespaces of each member
	total  int
}

// share is what a member should have at most.
func (p *planning) share() int { return (p.total + len(p.load) - 1) / len(p.load) }

func (p *planning) give(i int, to string) {
	given := &p.pieces[i]
	if given.holder != "" {
		p.load[given.holder] -= given.weight
	}
	given.holder = to
	p.load[to] += given.weight
}

// members returns those with the least load first; equal ones are in the order of their names.
func (p *planning) members() []string {
	return slices.SortedFunc(maps.Keys(p.load), func(a, b string) int {
		return cmp.Or(p.load[a]-p.load[b], cmp.Compare(a, b))
	})
}

// stretch is neighbouring pieces with one holder: from the first up to the one before the end.
type stretch struct{ first, end int }

func (p *planning) stretches(of string) (all []stretch) {
	for i := 0; i < len(p.pieces); {
		s := stretch{i, i + 1}
		for s.end < len(p.pieces) && p.pieces[s.end].holder == p.pieces[i].holder {
			s.end++
		}
		if p.pieces[i].holder == of {
			all = append(all, s)
		}
		i = s.end
	}
	return all
}

func (p *planning) weight(of stretch) (sum int) {
	for _, piece := range p.pieces[of.first:of.end] {
		sum += piece.weight
	}
	return sum
}

// holderAt returns "" beyond the ends.
func (p *planning) holderAt(i int) string {
	if i < 0 || i >= len(p.pieces) {
		return ""
	}
	return p.pieces[i].holder
}

// fill gives the free pieces away.
func (p *planning) fill() {
	for _, free := range p.stretches("") {
		before, after := p.holderAt(free.first-1), p.holderAt(free.end)
		for level := p.level(); free.first < free.end && p.hasRoom(before, free.first, level); free.first++ {
			p.give(free.first, before)
		}
		for level := p.level(); free.first < free.end && p.hasRoom(after, free.end-1, level); free.end-- {
			p.give(free.end-1, after)
		}
	}
	for _, free := range p.stretches("") {
		to, level := p.members()[0], p.level()
		for i := free.first; i < free.end; i++ {
			if !p.hasRoom(to, i, level) {
				to, level = p.members()[0], p.level()
			}
			p.give(i, to)
		}
	}
}

// hasRoom reports whether a member may get a piece; "" is nobody.
func (p *planning) hasRoom(member string, i, level int) bool {
	return member != "" && (p.pieces[i].weight == 0 || p.load[member] < level)
}

// level is the load up to which the free pieces fill up those who have least, as water would.
func (p *planning) level() int {
	free := p.total
	for _, load := range p.load {
		free -= load
	}
	loads := slices.Sorted(maps.Values(p.load))
	sum := 0
	for i, load := range loads {
		sum += load
		level := (free + sum + i) / (i + 1)
		if i+1 == len(loads) || level <= loads[i+1] {
			return level
		}
	}
	return 0
}

// worthwhile: a difference of less than this part of the higher load isn't worth a handover.
const worthwhile = 8

// even moves pieces from the member with the highest load to the one with the lowest, and reports
// whether it has. The sum of the loads' squares falls each time, so it comes to an end.
func (p *planning) even() bool {
	members := p.members()
	from, to := members[len(members)-1], members[0]
	difference := p.load[from] - p.load[to]
	if difference < 2 || difference*worthwhile <= p.load[from] {
		return false
	}
	p.move(from, to, max(1, min(difference/2, p.load[from]-p.share())))
	return true
}

// move gives a number of namespaces of one member to another: first what lies beside the other's own,
// because that makes no new range; then from the shortest stretch, because the giver may get rid of
// it.
func (p *planning) move(from, to string, amount int) {
	for amount > 0 {
		best, least := stretch{}, math.MaxInt
		for _, s := range p.stretches(from) {
			rank := p.weight(s)
			if rank == 0 {
				continue // it may stay: a handover of nothing costs a list, too
			}
			if p.holderAt(s.first-1) == to || p.holderAt(s.end) == to {
				rank -= p.total
			}
			if rank < least {
				best, least = s, rank
			}
		}
		atBeginning := p.holderAt(best.first-1) == to && p.holderAt(best.end) != to
		best = p.part(best, amount, atBeginning)
		amount -= p.weight(best)
		for i := best.first; i < best.end; i++ {
			p.give(i, to)
		}
	}
}

// part returns as much of a stretch as an amount says, from one of its ends. It begins with a
// namespace, unless it's the stretch's beginning, and so does what remains.
func (p *planning) part(of stretch, amount int, atBeginning bool) stretch {
	if p.weight(of) <= amount {
		return of
	}
	remains := amount
	if !atBeginning {
		remains = p.weight(of) - amount
	}
	cut := of.first
	for ; remains > 0 || p.pieces[cut].weight == 0; cut++ {
		remains -= p.pieces[cut].weight
	}
	if atBeginning {
		return stretch{of.first, cut}
	}
	return stretch{cut, of.end}
}

// runs is the plan.
func (p *planning) runs() (all []run) {
	for _, piece := range p.pieces {
		all = continued(all, run{piece.from, piece.holder})
	}
	return all
}
