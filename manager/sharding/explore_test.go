package sharding

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/tests/race"
)

// This file plays the rule in a small world: three processes, four ranges, a server, and a network that delays, loses
// and repeats. Time is in ticks, and all clocks run at the same speed. At each tick, who is up renews its Lease.
const (
	processes = 3
	ranges    = 4
	stopsAt   = 2 // ticks without a renewal after which a process has stopped by its own clock
	patience  = 3 // ticks without a renewal after which it may be declared gone
)

// world is all there is. A move makes another one, and shares with it what it doesn't change.
type world struct {
	now     int
	server  server
	proxy   *server // earlier answers, which it may repeat; nil if it has none
	process [processes]process
	late    []write // nobody waits for them any more, and they may still arrive
	names   int     // how many were given out; none is used again
	knows   *[processes][]uint64
}

// all know the same namespaces, one in each range.
var all = func() *[processes][]uint64 {
	numbers := places(0, 1, 2, 3)
	return &[processes][]uint64{numbers, numbers, numbers}
}()

// differently: one has seen namespaces that another one hasn't. They would not even agree on bounds.
var differently = &[processes][]uint64{places(0, 1, 2, 3), places(2), places(0, 3)}

type server struct {
	table   table
	version int // of the table's object; 0 is a missing one
	leases  map[string]lease
}

type write struct {
	base  int
	table table
}

type process struct {
	replica
	members members
	state   state
	renewed int    // when its last renewal was sent
	lease   string // what that made of its Lease
	looked  int    // when it asked for the last answer that it believed
}

type state byte

const (
	up     state = iota
	cutOff       // from the server
	paused
	down
)

// aWorld has some processes that are up, and others that may start later.
func aWorld(started int, knows *[processes][]uint64) world {
	w := world{server: server{leases: map[string]lease{}}, knows: knows}
	for i := range w.process {
		w.process[i].state = down
		if i < started {
			w.join(i)
		}
	}
	return w
}

// join starts a process. Its Lease is written before it does anything.
func (w *world) join(i int) {
	name := string(rune('a' + w.names))
	w.names++
	w.process[i] = process{replica: newReplica(name, patience*time.Second), members: members{}, renewed: w.now, lease: "1", looked: w.now}
	w.process[i].numbers = w.knows[i]
	w.set(name, lease{version: "1"})
}

func (w *world) set(member string, l lease) {
	w.server.leases = maps.Clone(w.server.leases)
	w.server.leases[member] = l
}

func (w *world) release(member string) {
	l := w.server.leases[member]
	l.released = true
	w.set(member, l)
}

func (w *world) put(t table) { w.server.table, w.server.version = t, w.server.version+1 }

// tick is a second in which everybody renews who can, and everybody ends who couldn't for too long.
func (w *world) tick() {
	w.now++
	for i := range w.process {
		p := &w.process[i]
		if l := w.server.leases[p.me]; p.state == up && !l.released {
			number, _ := strconv.Atoi(l.version)
			p.lease, p.renewed = strconv.Itoa(number+1), w.now
			w.set(p.me, lease{version: p.lease})
		}
		w.expire(i)
	}
}

// expire ends a process that could not renew in time, or look. One that's paused does nothing, not even that.
func (w *world) expire(i int) {
	if p := &w.process[i]; p.state != paused && (w.now-p.renewed >= stopsAt || w.now-p.looked >= stopsAt) {
		p.state = down
	}
}

func at(tick int) time.Time { return time.Unix(int64(tick), 0) }

// read handles what the server says, or a proxy for it.
func (p *process) read(s server, now int) {
	if s.leases[p.me].version != p.lease {
		return // it's older than our own renewal
	}
	p.looked = now
	version := ""
	if s.table.runs != nil {
		version = strconv.Itoa(s.version)
	}
	p.members = p.members.sees(s.leases, s.table.holders(), at(now))
	p.replica = p.reads(s.table, version, p.members.alive(at(now), patience*time.Second), p.members.gone(), at(now))
	p.act(now)
}

func (p *process) act(now int) {
	begin, stop := p.acts(at(now))
	p.replica = p.stopping(stop).begun(begin)
}

// move is one thing that can happen. Without troubles, everything goes well in some order.
type move struct {
	what    string
	trouble bool
	do      func(*world)
}

func (w world) after(m move) world {
	m.do(&w)
	return w
}

func (w *world) moves() (moves []move) {
	usual := func(what string, do func(*world)) { moves = append(moves, move{what, false, do}) }
	trouble := func(what string, do func(*world)) { moves = append(moves, move{what, true, do}) }

	usual("a second passes", (*world).tick)
	for i, late := range w.late {
		usual("a late write arrives: "+written(late.table.runs, ranges), func(w *world) {
			w.late = slices.Delete(slices.Clone(w.late), i, i+1)
			if late.base == w.server.version {
				w.put(late.table)
			}
		})
	}
	if w.proxy == nil {
		trouble("a proxy remembers its answers", func(w *world) { now := w.server; w.proxy = &now })
	}
	if w.server.version > 0 {
		trouble("somebody deletes the table", func(w *world) { w.server.table, w.server.version = table{}, w.server.version+1 })
	}
	for i := range w.process {
		w.movesOf(i, usual, trouble)
	}
	return moves
}

// movesOf are those of one process.
func (w *world) movesOf(i int, usual, trouble func(string, func(*world))) {
	p := w.process[i]
	on := func(do func(*process)) func(*world) { return func(w *world) { do(&w.process[i]) } }
	becomes := func(s state) func(*world) { return on(func(p *process) { p.state = s }) }
	switch p.state {
	case down:
		if w.names <= processes {
			usual(fmt.Sprintf("%c starts", 'a'+w.names), func(w *world) { w.join(i) })
		}
		return
	case paused, cutOff:
		usual(p.me+" is back", func(w *world) {
			w.process[i].state = up
			w.expire(i)
		})
		return
	}
	trouble(p.me+" is paused", becomes(paused))
	trouble(p.me+" is cut off", becomes(cutOff))
	trouble(p.me+" crashes", becomes(down))
	if !p.leaving {
		trouble(p.me+" wants to leave", func(w *world) {
			w.process[i].leaving = true
			w.process[i].act(w.now)
		})
	} else if p.left() {
		usual(p.me+" leaves", func(w *world) {
			w.release(p.me)
			w.process[i].state = down
		})
	}
	usual(p.me+" reads", func(w *world) { w.process[i].read(w.server, w.now) })
	if w.proxy != nil {
		usual(p.me+" reads what the proxy remembers", func(w *world) { w.process[i].read(*w.proxy, w.now) })
	}
	for _, member := range p.members.silent(at(w.now), patience*time.Second) {
		if w.server.leases[member] == p.members[member].lease { // or it's a conflict
			usual(p.me+" releases the Lease of "+member, func(w *world) { w.release(member) })
		}
	}
	if !p.stops.IsEmpty() {
		usual(p.me+" has ended its work in "+p.stops.String(), on(func(p *process) { p.replica = p.ended(p.stops) }))
	}
	if t, needed := p.writes(at(w.now)); needed {
		base, err := strconv.Atoi(p.version)
		if err != nil && w.server.table.runs == nil {
			base = w.server.version // it creates what isn't there
		}
		p.replica = p.sends(t)
		what := p.me + " writes " + written(t.runs, ranges)
		if base != w.server.version {
			usual(what+": a conflict", on(func(next *process) { next.replica = p.failed() }))
			return
		}
		usual(what, func(w *world) {
			w.put(t)
			w.process[i].replica = p.wrote(strconv.Itoa(w.server.version))
			w.process[i].act(w.now)
		})
		trouble(what+", and the answer is lost", func(w *world) {
			w.put(t)
			w.process[i].replica = p.failed()
		})
		trouble(what+", which is late", func(w *world) {
			w.late = append(slices.Clone(w.late), write{base, t})
			w.process[i].replica = p.failed()
		})
	}
}

// twice returns a range in which two processes work, or -1.
func (w *world) twice() int {
	for r := range ranges {
		working := 0
		for _, p := range w.process {
			if (p.state == up || p.state == cutOff) && p.works.has(place(r)) {
				working++
			}
		}
		if working > 1 {
			return r
		}
	}
	return -1
}

// told is a world, and how it came to be.
type told struct {
	world
	troubles int
	before   *told
	what     string
}

func (w *told) make(m move) *told {
	next := &told{world: w.after(m), troubles: w.troubles, before: w, what: m.what}
	if m.trouble {
		next.troubles++
	}
	return next
}

func (w *told) check(t *testing.T) {
	if r := w.twice(); r >= 0 {
		var story []string
		for now := w; now.before != nil; now = now.before {
			story = append(story, now.what)
		}
		slices.Reverse(story)
		require.Fail(t, "two replicas work on one range", "%d:\n%s", r, strings.Join(story, "\n"))
	}
}

// key is the same for worlds in which the same can happen. Numbers count only as far as they differ from those of the server, and
// times as far as somebody waits for them.
func (w *told) key() string {
	k := make([]byte, 0, 512)
	number := func(n int) { k = append(k, byte(n)) }
	text := func(s string) { k = append(append(k, s...), 0) }
	is := func(b bool) { k = strconv.AppendBool(k, b) }
	age := func(tick int) { number(min(w.now-tick, patience)) }
	aTable := func(t table) {
		number(int(w.server.table.generation - t.generation))
		is(t.runs == nil)
		for r := range ranges {
			text(holderOf(t.runs, place(r)))
		}
	}
	version := func(of, base string) {
		a, _ := strconv.Atoi(of)
		b, _ := strconv.Atoi(base)
		number(b - a)
	}
	names := slices.Sorted(maps.Keys(w.server.leases))
	aServer := func(s server) {
		aTable(s.table)
		number(w.server.version - s.version)
		for _, name := range names {
			version(s.leases[name].version, w.server.leases[name].version)
			is(s.leases[name].released)
		}
	}
	number(w.troubles)
	aServer(w.server)
	if w.proxy != nil {
		aServer(*w.proxy)
	}
	for i := range w.process {
		p := &w.process[i]
		number(int(p.state))
		if p.state == down {
			continue
		}
		text(p.me)
		age(p.renewed)
		age(p.looked)
		aTable(p.table)
		version(p.version, strconv.Itoa(w.server.version))
		for _, b := range []bool{p.leaving, p.behind, p.current, p.asking} {
			is(b)
		}
		number(max(0, int(p.quiet.Unix())-w.now))
		number(int(w.server.table.generation - p.unsureUntil))
		for r := range ranges {
			is(p.unsure.has(place(r)))
			is(p.works.has(place(r)))
			is(p.stops.has(place(r)))
		}
		for _, name := range slices.Concat(p.alive, []string{""}, p.gone) {
			text(name)
		}
		for _, name := range names {
			s, known := p.members[name]
			is(known)
			version(s.version, w.server.leases[name].version)
			is(s.released)
			age(int(s.since.Unix()))
		}
	}
	for _, late := range w.late {
		number(w.server.version - late.base)
		aTable(late.table)
	}
	return string(k)
}

// explore plays all orders of events from a world up to some depth, with at most this many troubles.
func explore(t *testing.T, from *told, depth, troubles int) (worlds int) {
	seen := map[string]bool{}
	layer := []*told{from}
	for range depth {
		var next []*told
		for _, before := range layer {
			for _, m := range before.moves() {
				if m.trouble && before.troubles == troubles {
					continue
				}
				now := before.make(m)
				k := now.key()
				if seen[k] {
					continue
				}
				seen[k] = true
				now.check(t)
				next = append(next, now)
			}
		}
		layer = next
	}
	return len(seen)
}

// settled is a world in which everybody has what the plan says, and knows it.
func settled(started int, knows *[processes][]uint64) *told {
	w := aWorld(started, knows)
	for range 3 * patience {
		w.tick()
		for range 3 {
			w.calm()
		}
	}
	return &told{world: w}
}

// calm lets everybody who is up do all that there's to do, once.
func (w *world) calm() {
	for i := range w.process {
		if w.process[i].state == up {
			w.process[i].read(w.server, w.now)
		}
		w.movesOf(i, func(what string, do func(*world)) {
			if !strings.Contains(what, " reads") && !strings.Contains(what, " starts") {
				do(w)
			}
		}, func(string, func(*world)) {})
	}
}

func TestNoTwoReplicasWorkOnOneRangeWhateverTheOrderOfEvents(t *testing.T) {
	depth := 6
	if race.Enabled {
		depth = 4 // there's one goroutine
	}
	play := func(knows *[processes][]uint64, depth int) {
		for started := range processes + 1 {
			for troubles := range 3 {
				from := settled(started, knows)
				n := explore(t, from, depth, troubles)
				t.Logf("%d started, %s: %d troubles: %d worlds", started, written(from.server.table.runs, ranges), troubles, n)
			}
		}
	}
	play(all, depth)
	t.Log("one knows namespaces that others don't")
	play(differently, depth-1)
}

// Long walks come to worlds that no exploration reaches. When the troubles are over, each range has one replica that works on it,
// and nobody writes any more.
func TestLongWalksEndWell(t *testing.T) {
	for seed := range race.Fewer(uint64(1000)) {
		random := rand.New(rand.NewPCG(seed, 0))
		rare := 5 + random.IntN(50)
		w := &told{world: aWorld(random.IntN(processes+1), all)}
		for range 150 {
			all := w.moves()
			m := all[random.IntN(len(all))]
			for m.trouble && random.IntN(rare) > 0 {
				m = all[random.IntN(len(all))]
			}
			w = w.make(m)
			w.check(t)
		}
		w.proxy, w.late = nil, nil
		for i := range w.process {
			if w.process[i].state == down {
				w.join(i)
			}
		}
		for range 3 * patience {
			w.tick()
			for range 3 {
				w.calm()
				w.check(t)
			}
		}
		before := w.server.version
		w.calm()
		require.Equal(t, before, w.server.version, "seed %d: they write and write", seed)
		for r := range ranges {
			holder := holderOf(w.server.table.runs, place(r))
			require.True(t, slices.ContainsFunc(w.process[:], func(p process) bool {
				return p.state == up && p.me == holder && p.works.has(place(r)) && !p.stops.has(place(r))
			}), "seed %d: %s has %d, and doesn't work there", seed, holder, r)
		}
	}
}
