package workqueue

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// ranked makes an entry that waits in the levels.
func ranked(l *levels[string], item string, priority int) *entry[string] {
	e := &entry[string]{item: item, group: item[:1], priority: priority}
	l.push(e)
	return e
}

// popAll takes all entries out, and joins their items.
func popAll(t *testing.T, l *levels[string], n int) string {
	t.Helper()
	var order []string
	for range n {
		require.Positive(t, len(l.busy), "%d items were put in, and only %d came out (%q): no level is busy", n, len(order), order)
		e := l.pop()
		require.True(t, e != nil, "an item got lost: %d items were put in, and pop returns nil after %d (%q)", n, len(order), order)
		order = append(order, e.item)
	}
	for _, level := range l.busy {
		require.Fail(t, "a level that is empty must not be asked for an item", "all came out, and the level of priority %d is busy, with n = %d", level.priority, level.n)
	}
	return strings.Join(order, " ")
}

// Function: levels.push or levels.pop
func TestLevelsHandOutWhatWasPutIn(t *testing.T) {
	l := &levels[string]{patience: 100}
	ranked(l, "a", 0)
	ranked(l, "b", 0)
	require.Equal(t, "a b", popAll(t, l, 2), "in a single level, it is first-in first-out")
}

// Function: levels.push or levels.next
func TestLevelsServeTheHighestPriorityFirst(t *testing.T) {
	l := &levels[string]{patience: 100}
	ranked(l, "resync", -100)
	ranked(l, "user", 0)
	ranked(l, "urgent", 7)
	ranked(l, "user2", 0)
	require.Equal(t, "urgent user user2 resync", popAll(t, l, 4), "higher priorities first, and first-in first-out among equals")
}

// Function: levels.raise
func TestLevelsRaiseAnItemThatIsAddedAgain(t *testing.T) {
	l := &levels[string]{patience: 100}
	ranked(l, "a", -100)
	b := ranked(l, "b", -100)
	ranked(l, "c", -100)
	ranked(l, "d", 0)
	l.raise(b, 0)
	require.Equal(t, 0, b.priority, "the entry knows its new priority, or it is looked for in the wrong level the next time")
	require.Equal(t, "d b a c", popAll(t, l, 4), "an item that is raised goes to the end of its new level")
	l.raise(ranked(l, "e", 1), 2)
	require.Equal(t, "e", popAll(t, l, 1), "the last item of a level can be raised, too")
}

// Somebody updates objects faster than the workers work. A resync must get
// through all the same, or a change that was missed is never repaired.
//
// Function: levels.next or levels.pop
func TestLevelsDoNotStarve(t *testing.T) {
	const patience = 5
	l := &levels[string]{patience: patience}
	waited := 0
	for range 20 {
		ranked(l, "low", -100)
	}
	for range 20 {
		for waited = 0; ; waited++ {
			ranked(l, "high", 0)
			if l.pop().item == "low" {
				break
			}
			require.Less(t, waited, 10*patience, "while higher work never ends, the low class never has a turn")
		}
		require.LessOrEqual(t, waited, patience, "a low class that has its turn too late waits longer than the documentation promises")
		require.GreaterOrEqual(t, waited, patience, "a low class that has its turn too early slows down what matters more")
	}
}

// The bound that the documentation states, with many levels that all wait.
//
// Function: levels.next or levels.pop
func TestLevelsKeepTheirBoundWithManyLevels(t *testing.T) {
	for _, n := range []int{2, 3, 10, 40} {
		const patience = 8
		l := &levels[int]{patience: patience}
		last := make([]int, n)
		for priority := range n {
			for range 2 {
				l.push(&entry[int]{item: priority, priority: priority})
			}
		}
		for pop := range 2000 {
			e := l.pop()
			last[e.item] = pop
			for level := range n {
				require.LessOrEqual(t, pop-last[level], patience+n, "level %d of %d waits longer than the documentation promises", level, n)
			}
			l.push(e) // it never runs dry
		}
	}
}

// Function: levels.push or levels.pop
func TestLevelsGiveEachGroupItsTurn(t *testing.T) {
	l := &levels[string]{patience: 100, grouped: true}
	for i := range 4 {
		ranked(l, fmt.Sprintf("noisy%d", i), 0)
	}
	ranked(l, "quiet", 0)
	ranked(l, "shy1", 0)
	ranked(l, "shy2", 0)
	require.Equal(t, "noisy0 quiet shy1 noisy1 shy2 noisy2 noisy3", popAll(t, l, 7),
		"groups take turns: without them, whoever makes the most objects holds up all others")
}

// With groups, an item that waits is in a lane, and not in the level's list.
//
// Function: levels.raise
func TestLevelsRaiseAnItemOutOfItsGroup(t *testing.T) {
	l := &levels[string]{patience: 100, grouped: true}
	noisy := ranked(l, "noisy0", -100)
	ranked(l, "noisy1", -100)
	ranked(l, "quiet0", -100)
	ranked(l, "noisy2", -100)
	l.raise(noisy, 0)
	require.Equal(t, "noisy0", l.pop().item, "the item that was raised comes first")
	require.Equal(t, "noisy1", l.pop().item, "the item that was raised must leave the lane of its group, or it comes a second time, and those behind it are lost")
	ranked(l, "noisy3", -100)
	require.Equal(t, "quiet0 noisy2 noisy3", popAll(t, l, 3), "when an item of a group is raised, the others keep their turns")
}

// levelsModel is a slice, and a count for each level that waits.
type levelsModel struct {
	waiting []*entry[int]
	turn    map[int]int // the pop at which a priority had its turn, or began to wait
	groups  map[int][]int
	pops    int
}

func (m *levelsModel) push(e *entry[int]) {
	if !slices.ContainsFunc(m.waiting, func(o *entry[int]) bool { return o.priority == e.priority }) {
		m.turn[e.priority], m.groups[e.priority] = m.pops, nil
	}
	if !slices.Contains(m.groups[e.priority], e.item%3) {
		m.groups[e.priority] = append(m.groups[e.priority], e.item%3)
	}
	m.waiting = append(m.waiting, e)
}

func (m *levelsModel) remove(e *entry[int]) {
	m.waiting = slices.DeleteFunc(m.waiting, func(o *entry[int]) bool { return o == e })
	if !slices.ContainsFunc(m.waiting, func(o *entry[int]) bool { return o.priority == e.priority && o.item%3 == e.item%3 }) {
		m.groups[e.priority] = slices.DeleteFunc(m.groups[e.priority], func(g int) bool { return g == e.item%3 })
	}
}

func (m *levelsModel) pop(patience int) *entry[int] {
	m.pops++
	highest, oldest := m.waiting[0].priority, m.waiting[0].priority
	for _, e := range m.waiting {
		highest = max(highest, e.priority)
		if m.turn[e.priority] < m.turn[oldest] {
			oldest = e.priority
		}
	}
	priority := highest
	if m.pops-m.turn[oldest] > patience {
		priority = oldest
	}
	m.turn[priority] = m.pops
	group := m.groups[priority][0]
	i := slices.IndexFunc(m.waiting, func(e *entry[int]) bool { return e.priority == priority && e.item%3 == group })
	e := m.waiting[i]
	m.groups[priority] = append(m.groups[priority][1:], group)
	m.remove(e)
	return e
}

// playLevels does what the script says with both. Levels that began to wait at the
// same pop are equally stale; the model does not say which comes first, so the
// script pops once after each new level.
func playLevels(t *testing.T, script []byte) {
	const patience = 4
	l := &levels[int]{patience: patience, grouped: true}
	m := &levelsModel{turn: map[int]int{}, groups: map[int][]int{}}
	pop := func() {
		if len(m.waiting) > 0 {
			want := m.pop(patience)
			got := l.pop()
			require.True(t, got != nil, "item %d of level %d has its turn, and pop returns nil", want.item, want.priority)
			require.True(t, want == got, "item %d of level %d has its turn, and item %d of level %d came", want.item, want.priority, got.item, got.priority)
		}
	}
	for i, step := range script {
		busy := len(l.busy)
		switch step % 3 {
		case 0:
			e := &entry[int]{item: i, group: fmt.Sprint(i % 3), priority: int(step >> 2 % 4)}
			m.push(e)
			l.push(e)
		case 1:
			if len(m.waiting) > 0 {
				e := m.waiting[int(step>>2)%len(m.waiting)]
				old := *e
				m.remove(e)
				l.raise(e, old.priority+1)
				m.push(e)
			}
		case 2:
			pop()
		}
		if len(l.busy) != busy {
			pop()
		}
		total := 0
		for i, level := range l.busy {
			total += level.n
			require.True(t, i == 0 || level.priority < l.busy[i-1].priority, "the busy levels stand in the order of their priorities, the highest first")
		}
		require.Equal(t, len(m.waiting), total, "each busy level counts its items in n")
	}
}

// Function: levels.pop or levels.raise
func TestLevelsDoWhatTheModelDoes(t *testing.T) {
	for seed := range uint64(2000) {
		random := rand.New(rand.NewPCG(seed, 9))
		script := make([]byte, random.IntN(100))
		for i := range script {
			script[i] = byte(random.Uint32())
		}
		playLevels(t, script)
	}
}

func FuzzLevels(f *testing.F) {
	f.Add([]byte{0, 0, 3, 12, 2, 2, 2})
	f.Add([]byte{0, 12, 0, 12, 1, 4, 2, 2})
	f.Add([]byte{0, 0, 0, 0, 12, 12, 12, 12, 12, 2, 2, 2, 2, 2, 2, 2})
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) < 400 {
			playLevels(t, script)
		}
	})
}
