package workqueue

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// levelsModel is priorityLevels as one would write it without caring for speed: a list of
// what waits, and some facts about each priority.
type levelsModel struct {
	patience int
	grouped  bool
	pops     int
	waiting  []*entry[int]    // in the order in which they were pushed
	turn     map[int]int      // the pop at which a priority had its turn, or began to wait
	groups   map[int][]string // the groups that wait with a priority, the next one first
}

// group is the group of an entry, if groups matter.
func (m *levelsModel) group(e *entry[int]) string {
	if !m.grouped {
		return ""
	}
	return e.group
}

// like are the entries that wait with the same priority as e, and in its group.
func (m *levelsModel) like(e *entry[int]) (level, group int) {
	for _, other := range m.waiting {
		if other.priority == e.priority {
			level++
			if m.group(other) == m.group(e) {
				group++
			}
		}
	}
	return level, group
}

func (m *levelsModel) push(e *entry[int]) {
	level, group := m.like(e)
	if level == 0 {
		m.turn[e.priority] = m.pops
	}
	if group == 0 {
		m.groups[e.priority] = append(m.groups[e.priority], m.group(e))
	}
	m.waiting = append(m.waiting, e)
}

func (m *levelsModel) remove(e *entry[int]) {
	m.waiting = slices.DeleteFunc(m.waiting, func(o *entry[int]) bool { return o == e })
	level, group := m.like(e)
	if group == 0 {
		m.groups[e.priority] = slices.DeleteFunc(m.groups[e.priority], func(g string) bool { return g == m.group(e) })
	}
	if level == 0 {
		delete(m.turn, e.priority)
	}
}

func (m *levelsModel) highest() int {
	highest := m.waiting[0].priority
	for priority := range m.turn {
		highest = max(highest, priority)
	}
	return highest
}

// overdue are the priorities that have waited too long and longest. They may be
// several: which of them comes first is not promised.
func (m *levelsModel) overdue() (priorities []int) {
	longest := m.patience + 1
	for priority, turn := range m.turn {
		switch waited := m.pops + 1 - turn; {
		case waited > longest:
			longest, priorities = waited, []int{priority}
		case waited == longest:
			priorities = append(priorities, priority)
		}
	}
	return priorities
}

// pop takes out the entry that comes next if this priority has its turn.
func (m *levelsModel) pop(priority int) *entry[int] {
	m.pops++
	m.turn[priority] = m.pops
	group := m.groups[priority][0]
	m.groups[priority] = append(m.groups[priority][1:], group)
	e := m.waiting[slices.IndexFunc(m.waiting, func(e *entry[int]) bool { return e.priority == priority && m.group(e) == group })]
	m.remove(e)
	return e
}

// levelsPlay does each step with priorityLevels and with the model, and compares.
type levelsPlay struct {
	t    *testing.T
	l    *priorityLevels[int]
	m    *levelsModel
	seen exercised
}

func (p *levelsPlay) push(e *entry[int]) {
	turn, busy := p.m.turn[e.priority]
	p.seen.count("an item is added to a level that waits for its turn", busy && turn < p.m.pops)
	p.m.push(e)
	p.l.push(e)
	p.seen.most("items that wait at once", len(p.m.waiting))
	p.seen.most("levels that are busy at once", len(p.m.turn))
	p.seen.most("groups that wait in one level", len(p.m.groups[e.priority]))
}

func (p *levelsPlay) raise(e *entry[int], priority int) {
	level, group := p.m.like(e)
	_, busy := p.m.turn[priority]
	p.seen.count("the last item of a level is raised", level == 1)
	p.seen.count("the last item of a group is raised out of a level with other groups", level > 1 && group == 1)
	p.seen.count("an item is raised from among others of its group", group > 2)
	p.seen.count("an item is raised into a level that is busy", busy)
	p.seen.count("an item is raised into a level that is empty", !busy)
	p.m.remove(e)
	p.l.raise(e, priority)
	equal(p.t, priority, e.priority, "raise sets the entry's priority, and push leaves it alone")
	p.m.push(e)
}

func (p *levelsPlay) pop() {
	if len(p.m.waiting) == 0 {
		return
	}
	highest, overdue := p.m.highest(), p.m.overdue()
	got := p.l.pop()
	require.True(p.t, got != nil, "%d items wait, and pop returns nil", len(p.m.waiting))
	switch {
	case overdue == nil:
		equal(p.t, highest, got.priority, "no level has waited for more than patience pops, so the highest has its turn")
	default:
		require.Contains(p.t, overdue, got.priority, "these levels have waited longest, and too long: one of them has its turn")
	}
	p.seen.count("a level that waited too long has its turn before a higher one", got.priority < highest)
	p.seen.count("two levels have waited too long", len(overdue) > 1)
	p.seen.count("a level in the middle has its turn before a higher one", got.priority < highest && slices.ContainsFunc(p.m.waiting, func(e *entry[int]) bool { return e.priority < got.priority }))
	p.seen.count("a group has its turn before an older item of another", p.m.waiting[slices.IndexFunc(p.m.waiting, func(e *entry[int]) bool { return e.priority == got.priority })] != got)
	want := p.m.pop(got.priority)
	require.True(p.t, want == got, "priority %d has its turn: item %d of group %s comes next, and item %d of group %s came", got.priority, want.item, want.group, got.item, got.group)
}

// check compares what priorityLevels knows about itself with the model.
func (p *levelsPlay) check() {
	items := map[int]int{}
	for _, e := range p.m.waiting {
		items[e.priority]++
	}
	levels := busy(p.l)
	for i, level := range levels {
		require.True(p.t, i == 0 || level.priority < levels[i-1].priority, "the levels stand in the order of their priorities, the highest first")
		equal(p.t, items[level.priority], level.n, "each level counts its items in n")
		equal(p.t, p.m.turn[level.priority], int(level.turn), "a level's turn is the pop that served it last, or before which it became busy")
		equal(p.t, len(p.m.groups[level.priority]), len(level.lanes.lanes), "each group that waits has a lane, and no other")
	}
	require.Len(p.t, levels, len(items), "each priority that an item waits with has a level")
}

// playLevels does what the script says. Each byte is a step. It takes out all that is
// left at the end.
func playLevels(t *testing.T, script []byte, grouped bool, seen exercised) {
	const patience = 4
	p := &levelsPlay{
		t:    t,
		l:    &priorityLevels[int]{patience: patience},
		m:    &levelsModel{patience: patience, grouped: grouped, turn: map[int]int{}, groups: map[int][]string{}},
		seen: seen,
	}
	for i, step := range script {
		number := int(step >> 3)
		switch step % 8 {
		default:
			group := ""
			if grouped {
				group = string(rune('a' + i%4))
			}
			p.push(newEntry(i, group, number%5))
		case 4:
			if n := len(p.m.waiting); n > 0 {
				e := p.m.waiting[number%n]
				p.raise(e, e.priority+1+i%3)
			}
		case 5, 6, 7:
			p.pop()
		}
		p.check()
	}
	for len(p.m.waiting) > 0 {
		p.pop()
		p.check()
	}
}

func TestLevelsDoWhatTheModelDoes(t *testing.T) {
	seen := exercised{}
	for seed := range uint64(700) {
		random := rand.New(rand.NewPCG(seed, 9))
		script := make([]byte, random.IntN(100))
		for i := range script {
			script[i] = byte(random.Uint32())
		}
		playLevels(t, script, seed%2 == 0, seen)
	}
	seen.require(t, exercised{
		"items that wait at once":                                             25,
		"levels that are busy at once":                                        6,
		"groups that wait in one level":                                       4,
		"an item is added to a level that waits for its turn":                 300,
		"the last item of a level is raised":                                  300,
		"the last item of a group is raised out of a level with other groups": 300,
		"an item is raised from among others of its group":                    300,
		"an item is raised into a level that is busy":                         300,
		"an item is raised into a level that is empty":                        300,
		"a level that waited too long has its turn before a higher one":       300,
		"two levels have waited too long":                                     300,
		"a level in the middle has its turn before a higher one":              300,
		"a group has its turn before an older item of another":                300,
	})
}

func FuzzLevels(f *testing.F) {
	f.Add([]byte{0, 0, 24, 5, 5, 5}, true)
	f.Add([]byte{0, 8, 16, 24, 4, 12, 5, 5, 1, 9, 5}, false)
	f.Add([]byte{0, 0, 0, 0, 32, 32, 32, 32, 32, 32, 5, 5, 5, 5, 5, 5, 0, 5}, true)
	f.Fuzz(func(t *testing.T, script []byte, grouped bool) {
		if len(script) < 400 {
			playLevels(t, script, grouped, exercised{})
		}
	})
}
