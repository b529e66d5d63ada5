package hostile_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loopwright/loopwright/internal/tests/hostile"
	"github.com/loopwright/loopwright/internal/tests/race"
	"github.com/loopwright/loopwright/manager/client"
)

// component is what a row of cells is about: how it's started, and a story that users play with it.
type component struct {
	name string
	ops  []hostile.Op // what it does, so what can be attacked
	// start starts it.
	start func(w *world)
	story
	// retries is true if one failed request of this component shows up nowhere, because it
	// tries again at once, and that is fine.
}

// story is what users and kubelets do.
type story struct {
	kinds  func() []client.ObjectList // the kinds that it's about
	before func(w *world)             // ends before the component starts
	during func(w *world)             // a second after the fault began
	after  func(w *world)             // the fault is over
	// state says how things are. In the end it's what it is without a fault.
	state func(w *world) string
	// enough is what state is where creates are repeated that were carried out: by client-go's REST
	// client, which repeats any request after a 429, or by a controller whose cache is of a history
	// that was undone. What a Pod too many has done by then, nobody can take back. nil is state.
	enough func(w *world) string
	// kubelet runs Pods.
	kubelet bool
	// discovers: it asks discovery by itself, for each namespace
	discovers bool
	// lost is what happens after the backup from which the server is restored; nil is during.
	lost func(w *world)
	// churns are kinds whose objects come and go by the clock.
	churns []string
}

// cell is one fault, on one operation, for some time, against one component.
type cell struct {
	fault   hostile.Fault // without a name, there is none
	on      hostile.Op
	lasts   time.Duration // zero is one request
	carried bool
	// restored: instead of all this, the server is restored from a backup
	restored bool
}

var noFault cell

// String is the name of the cell's test.
func (c cell) String() string {
	lasts := "once"
	if c.lasts > 0 {
		lasts = fmt.Sprintf("%ds", c.lasts/time.Second)
	}
	on := string(c.on)
	if c.carried {
		on += "-carried-out"
	}
	return strings.Join([]string{c.fault.Name, lasts, on}, "/")
}

// cells are all cells of a component.
func (c *component) cells() (all []cell) {
	for _, fault := range hostile.Faults {
		for _, on := range append(c.ops, hostile.Everything) {
			for _, lasts := range []time.Duration{0, 10 * time.Second, time.Minute} {
				if on.IsWrite() && fault.IsStale() {
					continue // a replica passes writes on
				}
				if on == hostile.Everything && lasts == 0 {
					continue // it's about one of the others
				}
				if !fault.Spoils() || !on.IsWrite() {
					all = append(all, cell{fault: fault, on: on, lasts: lasts})
				}
				if on.IsWrite() {
					all = append(all, cell{fault: fault, on: on, lasts: lasts, carried: true})
				}
			}
		}
	}
	return all
}

// repeats is true of cells in which creates are repeated that were carried out.
func (c cell) repeats() bool {
	return c.restored || c.fault.Name == "busy429" && c.on == hostile.Create && c.carried
}

// saysNothing is true of cells in which nothing has to say what answered: an exception from the last
// of the promises, with the reasons.
func (c *component) saysNothing(cell cell) bool {
	fault := cell.fault.Name
	switch {
	case fault == "busy429":
		// client-go's REST client does what Retry-After says ten times before it says anything, and
		// an elector's deadline is shorter than that.
		return cell.lasts < time.Minute || strings.HasSuffix(c.name, "elector")
	case c.name == "mini-garbage" && cell.on == hostile.Get:
		// To it, JSON is JSON, whatever its type.
		return strings.HasPrefix(fault, "type")
	case c.name == "mini-namespace" && cell.on == hostile.Delete:
		return strings.HasPrefix(fault, "type") // the same
	case c.name == "mini-namespace" && cell.on == hostile.Discovery:
		// The same. And client-go's discovery asks once more if an answer breaks off, and says
		// "unknown" of a 403.
		return strings.HasPrefix(fault, "type") || strings.HasPrefix(fault, "cut") ||
			fault == "forbidden403"
	}
	return false
}

// outcome is what a story leaves behind.
type outcome struct {
	state string
	gone  map[string]int
	hits  int
}

// The network, and not the API server, answers. Afterwards no deletion was reported or made that a
// run without a fault wouldn't have, no finalizer went early, there were never two leaders, the
// component carries on without a restart, and an error said what had answered.
func TestHostileNetwork(t *testing.T) {
	for _, c := range components {
		t.Run(c.name, func(t *testing.T) {
			var want outcome
			synctest.Test(t, func(t *testing.T) { want = c.play(t, noFault, "") })
			if want.state == "" {
				t.Fatal("without a fault, the component has done nothing")
			}
			run := func(name string, cell cell) {
				t.Run(name, func(t *testing.T) {
					c, want := c, want
					if cell.repeats() && c.enough != nil {
						c.state = c.enough
						synctest.Test(t, func(t *testing.T) { want = c.play(t, noFault, "") })
					}
					synctest.Test(t, func(t *testing.T) {
						got := c.play(t, cell, want.state)
						c.compare(t, cell, want, got)
					})
				})
			}
			for i, cell := range c.cells() {
				if !skips(i) {
					run(cell.String(), cell)
				}
			}
			run("restored", cell{restored: true})
		})
	}
}

// skips thins the matrix out: the whole of it takes seven minutes of CPU, and HOSTILE=all plays it.
// A prime step gives each fault, time and operation its turn.
func skips(i int) bool {
	step := 5
	switch {
	case os.Getenv("HOSTILE") == "all":
		step = 1
	case testing.Short():
		step = 67
	case race.Enabled:
		step = 41
	}
	return i%step != 0
}

// patience is how long after the fault a component may take until all is as it should be.
const patience = 20 * time.Minute

// play plays the component's story in one world.
func (c *component) play(t *testing.T, cell cell, want string) outcome {
	w := newWorld(t)
	defer w.end()
	if c.before != nil {
		c.before(w)
	}
	c.start(w)
	if c.kubelet {
		w.parts.Go(func() { kubelet(w) })
	}
	w.judge(c.kinds()...)
	time.Sleep(30 * time.Second)
	synctest.Wait()
	if cell.restored {
		c.restore(w)
	}
	hits := w.strike(cell, c.discovers)
	time.Sleep(time.Second)
	c.during(w)
	time.Sleep(max(cell.lasts, 30*time.Second))
	synctest.Wait()
	shows := cell.fault.Shows
	if cell.on == hostile.Discovery && !c.discovers { // which is asked because of a 404
		shows = append(shows[:len(shows):len(shows)], "404 page not found")
	}
	shown := hits() == 0 || len(shows) == 0 || w.hasSaid(shows)
	said := w.lately()
	c.after(w)
	state := c.settle(w, want)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, promise := range w.broken {
		t.Error(promise)
	}
	if !shown && cell.lasts > 0 && !c.saysNothing(cell) {
		t.Errorf("nothing said what had answered (one of %q), only\n%s", cell.fault.Shows, said)
	}
	for class := range w.gone {
		if slices.Contains(c.churns, strings.Fields(class)[0]) {
			delete(w.gone, class)
		}
	}
	return outcome{state, maps.Clone(w.gone), hits()}
}

// restore lets half a minute pass, with a million writes, and then puts the server back to where it
// was before. A real one is down meanwhile, which the other cells play.
func (c *component) restore(w *world) {
	backup := w.Server.Backup()
	w.Server.Advance(1_000_000)
	if c.lost != nil {
		c.lost(w)
	} else {
		c.during(w)
	}
	time.Sleep(30 * time.Second)
	synctest.Wait()
	w.Server.Restore(backup)
	w.forget(c.kinds()...)
}

// settle waits until the state is the wanted one for a minute, and returns what it is in the end. If
// none is wanted, that's after five minutes.
func (c *component) settle(w *world, want string) (state string) {
	if want == "" {
		time.Sleep(5 * time.Minute)
		return c.state(w)
	}
	const pause = 5 * time.Second
	for left, held := patience, time.Duration(0); left > 0 && held < time.Minute; left -= pause {
		time.Sleep(pause)
		if w.isRewound() {
			w.collect()
		}
		held += pause
		if state = c.state(w); state != want {
			held = 0
		}
	}
	return state
}

// compare judges an outcome.
func (c *component) compare(t *testing.T, cell cell, want, got outcome) {
	if got.hits == 0 {
		t.Error("the fault hit nothing, so this cell shows nothing")
	}
	if got.state != want.state {
		t.Errorf("it didn't carry on. In the end there is\n%s\nand without the fault\n%s",
			got.state, want.state)
	}
	for class, n := range got.gone {
		if cell.restored && strings.HasPrefix(class, "Pod ") && strings.HasSuffix(class, "*") {
			// A controller that counted in a history that was undone makes too many, and takes as
			// many back. state says how many there are in the end.
			continue
		}
		if n > want.gone[class] {
			t.Errorf("deleted: %d of %s, and without the fault %d", n, class, want.gone[class])
		}
	}
}
