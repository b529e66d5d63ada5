package workqueue

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// heapModel is delays as one would write it without caring for speed: a map.
type heapModel map[byte]*modelDelay

// modelDelay is an alarm that is pending.
type modelDelay struct {
	at    time.Duration
	order int // the number of the add that started it
	pieceOfWork
}

// first is the item whose alarm goes off next.
func (m heapModel) first() *modelDelay {
	var first *modelDelay
	for _, delay := range m {
		if first == nil || delay.at < first.at || delay.at == first.at && delay.order < first.order {
			first = delay
		}
	}
	return first
}

// heapPlay does each step with delays and with the model, and compares.
type heapPlay struct {
	t     *testing.T
	d     delayBench[byte]
	m     heapModel
	now   time.Duration
	added int
	seen  exercised
}

func (p *heapPlay) add(item byte, at time.Duration, priority int, reason string, replace bool) {
	delay, want := p.m[item], delayKept
	switch {
	case delay == nil:
		p.added++
		delay = &modelDelay{at: at, order: p.added, pieceOfWork: pieceOfWork{priority: priority}}
		p.m[item], want = delay, delayStarted
	case at < delay.at, at > delay.at && replace:
		p.seen.count("an alarm is moved to an earlier moment", at < delay.at)
		p.seen.count("an alarm is replaced by a later one", at > delay.at)
		delay.at, want = at, delayMoved
	default:
		p.seen.count("an alarm is kept, because the new delay ends later", at > delay.at)
		p.seen.count("an alarm is kept, because it is due at the same moment", at == delay.at)
		p.seen.count("an alarm is kept, and the new priority is higher", priority > delay.priority)
	}
	delay.add(priority, reason)
	causes := Causes{Count: 1}
	if reason != "" {
		causes = because(reason)
	}
	names := []string{delayStarted: "delayStarted", delayMoved: "delayMoved", delayKept: "delayKept"}
	equal(p.t, names[want], names[p.d.want(item, at, addRequest{replace: replace, priority: priority, causes: causes})], "what add answers for item %d", item)
	p.seen.most("alarms that are pending at once", len(p.m))
}

func (p *heapPlay) cancel(item byte) {
	_, pending := p.m[item]
	p.seen.count("an alarm is cancelled", pending)
	equal(p.t, pending, p.d.cancel(item), "item %d has an alarm that can be cancelled, or it has none", item)
	delete(p.m, item)
}

func (p *heapPlay) popAll() {
	popped, last := 0, time.Duration(-1)
	for len(p.m) > 0 {
		want := p.m.first()
		if want.at > p.now {
			break
		}
		a := p.d.pop(p.now)
		require.True(p.t, a != nil, "an alarm is due at %d, and does not go off by %d", want.at, p.now)
		require.True(p.t, p.m[a.item] == want, "the alarm of item %d went off, and another one was due before it", a.item)
		p.same(a, want)
		delete(p.m, a.item)
		popped++
		p.seen.count("two alarms go off that are due at the same moment", want.at == last)
		last = want.at
	}
	p.seen.count("several alarms go off at once", popped > 1)
	require.True(p.t, p.d.pop(p.now) == nil, "an alarm goes off that is not due at %d", p.now)
}

// same compares what an alarm says about its work.
func (p *heapPlay) same(a *alarm[byte], want *modelDelay) {
	equal(p.t, want.priority, a.priority, "the priority of item %d is the highest of the adds for this alarm", a.item)
	equal(p.t, want.adds, a.causes.Count, "the causes of item %d count the adds for this alarm", a.item)
	require.True(p.t, slices.Equal(want.reasons, a.causes.Reasons()), "the reasons for item %d are those of the adds for this alarm", a.item)
}

func (p *heapPlay) check() {
	equal(p.t, len(p.m), len(p.d.heap), "the heap has each alarm that is pending, and no other")
	equal(p.t, len(p.m), len(p.d.alarms), "alarms has each alarm that is pending, and no other")
	for i, a := range p.d.heap {
		equal(p.t, i, a.index, "index says where an alarm is in the heap")
		require.True(p.t, p.d.alarms[a.item] == a, "the alarm in the heap is the item's")
		want := p.m[a.item]
		require.True(p.t, want != nil, "the alarm of item %d is in the heap, and is not pending", a.item)
		equal(p.t, want.at, a.at, "the alarm of item %d is in the heap with the moment that counts", a.item)
		p.same(a, want)
	}
	at, ok := p.d.next()
	equal(p.t, len(p.m) > 0, ok, "the timer is set if an alarm is pending")
	if ok {
		equal(p.t, p.m.first().at, at, "the timer is set to the moment of the alarm that is due first")
	}
	for _, left := range p.d.heap[len(p.d.heap):cap(p.d.heap)] {
		require.True(p.t, left == nil, "an alarm that has left the heap is kept in memory by it")
	}
}

// playDelays does what the script says. Each step is two bytes.
func playDelays(t *testing.T, script []byte, seen exercised) {
	p := &heapPlay{t: t, m: heapModel{}, seen: seen}
	for ; len(script) >= 2; script = script[2:] {
		item, number := script[0]>>3, script[1]
		switch script[0] % 8 {
		case 0, 1, 2, 3, 4: // one in five replaces
			reason := ""
			if number%7 != 0 {
				reason = strconv.Itoa(int(number % 7))
			}
			p.add(item, p.now+time.Duration(number%32), int(number>>5), reason, script[0]%8 == 0)
		case 5:
			p.cancel(item)
		default:
			p.now += time.Duration(number % 4)
			p.popAll()
		}
		p.check()
	}
}

func TestDelaysDoWhatTheModelDoes(t *testing.T) {
	seen := exercised{}
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 7))
		script := make([]byte, random.IntN(200))
		for i := range script {
			script[i] = byte(random.Uint32())
		}
		playDelays(t, script, seen)
	}
	seen.require(t, exercised{
		"alarms that are pending at once":                        20,
		"several alarms go off at once":                          300,
		"two alarms go off that are due at the same moment":      200,
		"an alarm is kept, because the new delay ends later":     500,
		"an alarm is kept, because it is due at the same moment": 30,
		"an alarm is kept, and the new priority is higher":       200,
		"an alarm is moved to an earlier moment":                 300,
		"an alarm is replaced by a later one":                    100,
		"an alarm is cancelled":                                  200,
	})
}

func FuzzDelays(f *testing.F) {
	f.Add([]byte{1, 5, 9, 3, 1, 2, 6, 3, 6, 3})
	f.Add([]byte{1, 5, 0, 9, 5, 0, 6, 15})
	f.Add([]byte{1, 1, 9, 1, 17, 1, 25, 1, 33, 1, 13, 0, 6, 3})
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) < 600 {
			playDelays(t, script, exercised{})
		}
	})
}

// delayingModel is the queue's model, with the moments of the alarms beside it.
type delayingModel struct {
	dedupModel
	alarms map[string]*modelAlarm
}

// modelAlarm is an item that is to be added at a moment, with a number of adds.
type modelAlarm struct {
	at   time.Time
	adds int
}

// add adds an item now, for a number of adds that were asked for.
func (m *delayingModel) add(item string, adds int) {
	for range adds {
		m.dedupModel.add(item, 0, "", 0)
	}
}

// delayingPlay does each step with a DelayingQueue and with the model, and compares.
type delayingPlay struct {
	t    *testing.T
	q    *DelayingQueue[string]
	m    delayingModel
	seen exercised
}

func (p *delayingPlay) add(item string) {
	p.seen.count("an item is added whose alarm is pending", p.m.alarms[item] != nil)
	p.q.Add(item)
	p.m.add(item, 1)
}

// addAfter is AddAfter, or with replace ReplaceAfter. Only the latter ends an alarm by an
// add at once, or makes it later.
func (p *delayingPlay) addAfter(item string, while time.Duration, replace bool) {
	alarm, at := p.m.alarms[item], time.Now().Add(while)
	p.seen.count("an alarm is set for an item that waits", while > 0 && p.m.waits(item) != nil)
	p.seen.count("an alarm is set for an item that a worker holds", while > 0 && p.m.holds(item) != nil)
	if replace {
		p.q.ReplaceAfter(item, while)
	} else {
		p.q.AddAfter(item, while)
	}
	switch {
	case while <= 0 && replace && alarm != nil:
		p.seen.count("an alarm goes off early, because it is replaced by now", true)
		delete(p.m.alarms, item)
		p.m.add(item, alarm.adds+1)
	case while <= 0:
		p.seen.count("a delay of zero or less leaves an alarm as it is", alarm != nil)
		p.m.add(item, 1)
	case alarm == nil:
		p.m.alarms[item] = &modelAlarm{at: at, adds: 1}
	default:
		p.seen.count("an alarm is moved to an earlier moment", at.Before(alarm.at))
		p.seen.count("an alarm is replaced by a later one", replace && at.After(alarm.at))
		p.seen.count("an alarm is kept, because the new delay ends later", !replace && at.After(alarm.at))
		alarm.adds++
		if replace || at.Before(alarm.at) {
			alarm.at = at
		}
	}
	p.seen.most("alarms that are pending at once", len(p.m.alarms))
}

func (p *delayingPlay) cancel(item string) {
	_, pending := p.m.alarms[item]
	p.seen.count("an alarm is cancelled", pending)
	p.seen.count("an item whose alarm is cancelled waits, or a worker holds it", pending && (p.m.waits(item) != nil || p.m.holds(item) != nil))
	equal(p.t, pending, p.q.Cancel(item), "Cancel returns true if there was an alarm")
	delete(p.m.alarms, item)
}

func (p *delayingPlay) get() {
	if len(p.m.waiting) == 0 {
		return
	}
	work, err := p.q.Next(p.t.Context())
	require.NoError(p.t, err)
	want := p.m.take(0).work
	equal(p.t, want.item, work.Item, "the item that waits longest comes first")
	equal(p.t, want.adds, work.Causes.Count, "the work answers all adds of %q, those of the alarm that went off too", work.Item)
}

// sleep adds what is due meanwhile. Each step of a script asks for another number of
// milliseconds, so no two alarms are due at the same moment.
func (p *delayingPlay) sleep(while time.Duration) {
	time.Sleep(while)
	synctest.Wait()
	var due []string
	for item, alarm := range p.m.alarms {
		if !alarm.at.After(time.Now()) {
			due = append(due, item)
		}
	}
	slices.SortFunc(due, func(a, b string) int {
		return cmp.Or(p.m.alarms[a].at.Compare(p.m.alarms[b].at), strings.Compare(a, b))
	})
	p.seen.count("several alarms go off during one sleep", len(due) > 1)
	for _, item := range due {
		p.seen.count("an alarm goes off for an item that waits", p.m.waits(item) != nil)
		p.seen.count("an alarm goes off for an item that a worker holds", p.m.holds(item) != nil)
		p.seen.count("an alarm goes off for an item that is not in the queue", p.m.waits(item) == nil && p.m.holds(item) == nil)
		p.m.add(item, p.m.alarms[item].adds)
		delete(p.m.alarms, item)
	}
}

func (p *delayingPlay) check() {
	equal(p.t, len(p.m.waiting), p.q.Len(), "the number of items that wait")
	equal(p.t, len(p.m.alarms), p.q.Delayed(), "the number of alarms that are pending")
	p.q.mu.Lock() // the timer's goroutine may have written them
	defer p.q.mu.Unlock()
	equal(p.t, len(p.m.held), len(p.q.dedup.processing), "what workers hold is processing, and nothing else")
	equal(p.t, len(p.m.alarms), len(p.q.delays.alarms), "an alarm is lost, or kept for nothing")
}

// playDelaying does what the script says. Each byte is a step.
func playDelaying(t *testing.T, script []byte, seen exercised) {
	p := &delayingPlay{t: t, q: NewDelaying(Options[string]{Report: func(error) {}}), seen: seen}
	p.m.alarms = map[string]*modelAlarm{}
	for i, step := range script {
		item := string(rune('a' + step>>3%5))
		while := time.Duration(int(step>>3)-8)*time.Second + time.Duration(i+1)*time.Millisecond
		switch step % 8 {
		case 0:
			p.add(item)
		case 1, 2:
			p.addAfter(item, while, false)
		case 3:
			p.addAfter(item, while, true)
		case 4:
			p.cancel(item)
		case 5:
			p.get()
		case 6:
			p.q.Done(item)
			p.m.done(item)
		case 7:
			p.sleep(time.Duration(step>>4) * time.Second)
		}
		p.check()
	}
	p.q.ShutDown()
	require.Equal(t, len(p.m.alarms), p.q.Dropped(), "what the shutdown dropped is counted")
	p.m.alarms = nil
	p.check()
}

func TestADelayingQueueDoesWhatTheModelDoes(t *testing.T) {
	seen := exercised{}
	for seed := range uint64(500) {
		random := rand.New(rand.NewPCG(seed, 77))
		script := make([]byte, random.IntN(120))
		for i := range script {
			script[i] = byte(random.Uint32())
		}
		synctest.Test(t, func(t *testing.T) { playDelaying(t, script, seen) })
	}
	seen.require(t, exercised{
		"alarms that are pending at once":                              5,
		"several alarms go off during one sleep":                       300,
		"an alarm goes off for an item that is not in the queue":       300,
		"an alarm goes off for an item that waits":                     300,
		"an alarm goes off for an item that a worker holds":            300,
		"an alarm goes off early, because it is replaced by now":       150,
		"an alarm is set for an item that waits":                       1000,
		"an alarm is set for an item that a worker holds":              1000,
		"an alarm is kept, because the new delay ends later":           500,
		"an alarm is moved to an earlier moment":                       300,
		"an alarm is replaced by a later one":                          300,
		"an alarm is cancelled":                                        500,
		"an item whose alarm is cancelled waits, or a worker holds it": 300,
		"an item is added whose alarm is pending":                      500,
		"a delay of zero or less leaves an alarm as it is":             300,
	})
}

func FuzzDelaying(f *testing.F) {
	f.Add([]byte{0x50, 5, 0x71, 0x55, 0x77, 6})             // due while a worker holds it
	f.Add([]byte{0x59, 0x50, 5, 0x16, 0x77, 0x59, 0x54})    // an add, and later the alarm
	f.Add([]byte{0x59, 0x6b, 0x61, 0x77, 0x77, 5, 6, 0x5c}) // moved, and moved back
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) < 300 {
			synctest.Test(t, func(t *testing.T) { playDelaying(t, script, exercised{}) })
		}
	})
}
