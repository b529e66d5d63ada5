package workqueue

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// dedupModel is dedup as one would write it without caring for speed.
type dedupModel struct {
	waiting []*pieceOfWork // those of one priority in the order in which they are handed out
	held    []*heldItem    // the longest-held first
}

// pieceOfWork is what the adds of an item amount to that came since a worker took it.
type pieceOfWork struct {
	item     string
	priority int
	adds     int
	reasons  []string
	since    time.Duration
}

// heldItem is an item that a worker holds.
type heldItem struct {
	work  *pieceOfWork
	taken time.Duration
	again *pieceOfWork // what was added since; nil if nothing was
}

func (w *pieceOfWork) add(priority int, reason string) {
	w.priority = max(w.priority, priority)
	w.adds++
	if reason != "" && !slices.Contains(w.reasons, reason) && len(w.reasons) < keptReasons {
		w.reasons = append(w.reasons, reason)
	}
}

func (m *dedupModel) waits(item string) *pieceOfWork {
	if i := slices.IndexFunc(m.waiting, func(w *pieceOfWork) bool { return w.item == item }); i >= 0 {
		return m.waiting[i]
	}
	return nil
}

func (m *dedupModel) holds(item string) *heldItem {
	if i := slices.IndexFunc(m.held, func(h *heldItem) bool { return h.work.item == item }); i >= 0 {
		return m.held[i]
	}
	return nil
}

func (m *dedupModel) add(item string, priority int, reason string, now time.Duration) verdict {
	waits, held := m.waits(item), m.holds(item)
	fresh := &pieceOfWork{item: item, priority: priority, since: now}
	fresh.add(priority, reason)
	switch {
	case waits != nil:
		if priority > waits.priority { // it goes to the end of those with this priority
			m.waiting = append(slices.DeleteFunc(m.waiting, func(w *pieceOfWork) bool { return w == waits }), waits)
		}
		waits.add(priority, reason)
		return merged
	case held == nil:
		m.waiting = append(m.waiting, fresh)
		return queued
	case held.again == nil:
		held.again = fresh
		return deferred
	default:
		held.again.add(priority, reason)
		return merged
	}
}

func (m *dedupModel) take(now time.Duration) *heldItem {
	next := m.waiting[0]
	for _, w := range m.waiting {
		if w.priority > next.priority {
			next = w
		}
	}
	m.waiting = slices.DeleteFunc(m.waiting, func(w *pieceOfWork) bool { return w == next })
	h := &heldItem{work: next, taken: now}
	m.held = append(m.held, h)
	return h
}

// done returns nil if nobody holds the item.
func (m *dedupModel) done(item string) *heldItem {
	h := m.holds(item)
	if h == nil {
		return nil
	}
	m.held = slices.DeleteFunc(m.held, func(other *heldItem) bool { return other == h })
	if h.again != nil {
		m.waiting = append(m.waiting, h.again)
	}
	return h
}

// dedupPlay does each step with dedup and with the model, and compares.
type dedupPlay struct {
	*bench
	m    dedupModel
	seen exercised
}

func (p *dedupPlay) add(item string, priority int, reason string) {
	waits, held := p.m.waits(item), p.m.holds(item)
	again := held != nil && held.again != nil
	p.seen.count("an item is added that nobody knows", waits == nil && held == nil)
	p.seen.count("an item is added that waits", waits != nil)
	p.seen.count("an item is added with a higher priority than the one it waits with", waits != nil && priority > waits.priority)
	p.seen.count("an item is added with a lower priority than the one it waits with", waits != nil && priority < waits.priority)
	p.seen.count("an item is added that a worker holds", held != nil)
	p.seen.count("an item that a worker holds is added again", again)
	p.seen.count("an item that a worker holds is added again, with a higher priority", again && priority > held.again.priority)
	p.seen.count("an item that a worker holds is added again, with a lower priority", again && priority < held.again.priority)
	p.seen.count("an item is added with a new reason, and has as many as are kept", waits != nil && reason != "" && len(waits.reasons) == keptReasons && !slices.Contains(waits.reasons, reason))

	causes := Causes{Count: 1}
	if reason != "" {
		causes = because(reason)
	}
	want := p.m.add(item, priority, reason, p.now)
	names := []string{queued: "queued", merged: "merged", deferred: "deferred"}
	equal(p.t, names[want], names[p.want(item, priority, causes)], "what add answers for %q", item)
	p.seen.most("items that wait at once", len(p.m.waiting))
}

func (p *dedupPlay) take() {
	if len(p.m.waiting) == 0 {
		return
	}
	oldest := p.m.waiting[0]
	h := p.m.take(p.now)
	p.seen.count("an item is taken before an older one with a lower priority", h.work != oldest)
	p.seen.most("items that workers hold at once", len(p.m.held))
	equal(p.t, h.work.item, p.bench.take("an item waits, and none is ready").item, "take hands out what order.pop returns")
}

func (p *dedupPlay) done(item string) {
	p.seen.count("done is called for an item that waits", p.m.waits(item) != nil)
	h := p.m.done(item)
	p.seen.count("done is called for an item that is worked on once more", h != nil && h.again != nil)
	p.seen.count("done is called for an item that is finished", h != nil && h.again == nil)
	e := p.bench.done(item)
	equal(p.t, h != nil, e != nil, "done(%s) returns an entry if a worker held the item, and nil if not", item)
	if h != nil {
		equal(p.t, h.taken, e.taken, "taken of an entry that done returns says when its worker took it: the metrics need it once more")
	}
}

// check compares all that dedup knows with the model.
func (p *dedupPlay) check() {
	dirty := len(p.m.waiting)
	for _, h := range p.m.held {
		item := h.work.item
		e := p.d.processing[item]
		require.True(p.t, e != nil, "a worker holds %q, so it is processing", item)
		equal(p.t, h.taken, e.taken, "when a worker took %q", item)
		p.same(e, h.work)
		equal(p.t, h.again != nil, p.d.dirty[item] != nil, "a worker holds %q, and it is dirty if it was added since", item)
		if h.again != nil {
			dirty++
			p.same(p.d.dirty[item], h.again)
		}
	}
	for _, w := range p.m.waiting {
		require.True(p.t, p.d.dirty[w.item] != nil && p.d.processing[w.item] == nil, "%q waits: it is dirty, and not processing", w.item)
		p.same(p.d.dirty[w.item], w)
	}
	equal(p.t, len(p.m.waiting), p.d.ready, "ready counts what is dirty and not processing")
	equal(p.t, dirty, len(p.d.dirty), "what waits is dirty, and what was added while a worker holds it, and nothing else")
	equal(p.t, len(p.m.held), len(p.d.processing), "what workers hold is processing, and nothing else")
	equal(p.t, len(p.m.waiting)+len(p.m.held) == 0, p.d.empty(), "the queue is empty when nothing waits and nobody works")
}

// same compares what an entry says about its work.
func (p *dedupPlay) same(e *entry[string], w *pieceOfWork) {
	equal(p.t, w.priority, e.priority, "the priority of %q is the highest of the adds since it was taken last", e.item)
	equal(p.t, w.adds, e.causes.Count, "the causes of %q count the adds since it was taken last", e.item)
	require.True(p.t, slices.Equal(w.reasons, e.causes.Reasons()), "the reasons for %q are those of the adds since it was taken last", e.item)
	equal(p.t, w.since, e.since, "%q waits since the first add after it was taken last", e.item)
}

// equal is require.Equal for millions of comparisons: it is slow only if they differ.
func equal[V comparable](t *testing.T, want, got V, message string, about ...any) {
	t.Helper()
	if want != got {
		require.Equal(t, want, got, append([]any{message}, about...)...)
	}
}

// playDedup does what the script says. Each byte is a step.
func playDedup(t *testing.T, script []byte, seen exercised) {
	p := &dedupPlay{bench: newBench(t), seen: seen}
	for i, step := range script {
		p.now += time.Duration(1 + i%3)
		number := int(step >> 3)
		item := string(rune('a' + number%7))
		switch step % 8 {
		default:
			reason := ""
			if i%8 != 0 {
				reason = "reason " + strconv.Itoa(i%8)
			}
			p.add(item, i%5-2, reason)
		case 4, 5:
			p.take()
		case 6:
			p.done(item)
		case 7:
			if n := len(p.m.held); n > 0 {
				p.done(p.m.held[number%n].work.item)
			}
		}
		p.check()
	}
}

func TestDedupDoesWhatTheModelDoes(t *testing.T) {
	seen := exercised{}
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 6))
		script := make([]byte, random.IntN(120))
		for i := range script {
			script[i] = byte(random.Uint32())
		}
		playDedup(t, script, seen)
	}
	seen.require(t, exercised{
		"items that wait at once":                                            6,
		"items that workers hold at once":                                    6,
		"an item is added that nobody knows":                                 1000,
		"an item is added that waits":                                        1000,
		"an item is added with a higher priority than the one it waits with": 500,
		"an item is added with a lower priority than the one it waits with":  500,
		"an item is added with a new reason, and has as many as are kept":    30,
		"an item is added that a worker holds":                               1000,
		"an item that a worker holds is added again":                         500,
		"an item that a worker holds is added again, with a higher priority": 200,
		"an item that a worker holds is added again, with a lower priority":  200,
		"an item is taken before an older one with a lower priority":         500,
		"done is called for an item that waits":                              200,
		"done is called for an item that is worked on once more":             500,
		"done is called for an item that is finished":                        500,
	})
}

func FuzzDedup(f *testing.F) {
	f.Add([]byte{0, 4, 0, 7})           // add, take, add, done: once more
	f.Add([]byte{0, 8, 0, 4, 7, 14, 4}) // two items, and a done of what waits
	f.Add([]byte{0, 4, 0, 0, 7, 4, 7, 7})
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) < 500 {
			playDedup(t, script, exercised{})
		}
	})
}

// exercised counts what a random test has really done, over all of its scripts. A script
// that never fills a queue says nothing about full queues, and passes all the same.
type exercised map[string]int

// count counts something that happened. It is not counted if it did not: happened is
// usually the condition under which a step has an effect.
func (x exercised) count(what string, happened bool) {
	if happened {
		x[what]++
	}
}

// most keeps the largest number of something that was there at the same moment.
func (x exercised) most(what string, n int) { x[what] = max(x[what], n) }

// require fails if one of these happened less often. A single script of a fuzz test may
// be trivial, so this is for the run of all seeds.
func (x exercised) require(t *testing.T, atLeast exercised) {
	t.Helper()
	for _, what := range slices.Sorted(maps.Keys(atLeast)) {
		require.GreaterOrEqual(t, x[what], atLeast[what], "the random scripts hardly try this, so they prove nothing about it: %s", what)
	}
	for _, what := range slices.Sorted(maps.Keys(x)) {
		require.Contains(t, atLeast, what, "this is counted, and nothing says how often it has to happen")
	}
}
