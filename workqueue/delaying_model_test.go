package workqueue

import (
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// delayingModel is chapter 6's model, with a map of moments beside it.
type delayingModel struct {
	model
	delayed map[string]time.Time
}

// addAfter is told whether a later moment may win.
func (m *delayingModel) addAfter(item string, while time.Duration, replace bool) {
	at, known := m.delayed[item]
	wanted := time.Now().Add(while)
	switch {
	case while <= 0, slices.Contains(m.waiting, item), slices.Contains(m.again, item):
		delete(m.delayed, item)
		m.add(item)
	case !known || replace || wanted.Before(at):
		m.delayed[item] = wanted
	}
}

// pass adds what is due. Each step of a script puts off by another number of
// milliseconds, so no two items are due at the same moment.
func (m *delayingModel) pass() {
	var due []string
	for item, at := range m.delayed {
		if !at.After(time.Now()) {
			due = append(due, item)
		}
	}
	slices.SortFunc(due, func(a, b string) int { return m.delayed[a].Compare(m.delayed[b]) })
	for _, item := range due {
		delete(m.delayed, item)
		m.add(item)
	}
}

// playDelaying does what the script says with a queue and with the model, and
// compares. Each byte is a step.
func playDelaying(t *testing.T, script []byte) {
	q := NewDelaying(Options[string]{Report: func(error) {}})
	m := &delayingModel{delayed: map[string]time.Time{}}
	for i, step := range script {
		item := string(rune('a' + step>>3%5))
		while := time.Duration(int(step>>3)-8)*time.Second + time.Duration(i+1)*time.Millisecond
		switch step % 8 {
		case 0:
			q.Add(item)
			m.addAfter(item, 0, false)
		case 1, 2:
			q.AddAfter(item, while)
			m.addAfter(item, while, false)
		case 3:
			q.ReplaceAfter(item, while)
			m.addAfter(item, while, true)
		case 4:
			_, known := m.delayed[item]
			require.Equal(t, known, q.Cancel(item))
			delete(m.delayed, item)
		case 5:
			if len(m.waiting) > 0 {
				got, _ := q.Get()
				require.Equal(t, m.take(), got)
			}
		case 6:
			q.Done(item)
			m.done(item)
		case 7:
			time.Sleep(time.Duration(step>>4) * time.Second)
			synctest.Wait()
			m.pass()
		}
		require.Equal(t, len(m.waiting), q.Len())
		require.Equal(t, len(m.delayed), q.Delayed())
		known := map[string]bool{}
		for _, item := range slices.Concat(m.waiting, m.held) {
			known[item] = true
		}
		for item := range m.delayed {
			known[item] = true
		}
		require.Equal(t, len(known), q.dedup.entries.n, "an entry is lost, or kept for nothing")
	}
	q.ShutDown()
	require.Equal(t, len(m.delayed), q.Dropped())
	require.Equal(t, len(m.waiting)+len(m.held), q.dedup.entries.n)
}

func TestADelayingQueueDoesWhatTheModelDoes(t *testing.T) {
	for seed := range uint64(500) {
		random := rand.New(rand.NewPCG(seed, 77))
		script := make([]byte, random.IntN(120))
		for i := range script {
			script[i] = byte(random.Uint32())
		}
		synctest.Test(t, func(t *testing.T) { playDelaying(t, script) })
	}
}

func FuzzDelaying(f *testing.F) {
	f.Add([]byte{0x50, 5, 0x71, 0x55, 0x77, 6})             // due while a worker holds it
	f.Add([]byte{0x59, 0x50, 5, 0x16, 0x77, 0x59, 0x54})    // an add ends a delay
	f.Add([]byte{0x59, 0x6b, 0x61, 0x77, 0x77, 5, 6, 0x5c}) // moved, and moved back
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) < 300 {
			synctest.Test(t, func(t *testing.T) { playDelaying(t, script) })
		}
	})
}
