package workqueue

import (
	"sync"
	"sync/atomic"
)

// spinMutex is a sync.Mutex whose Lock stays awake for some microseconds before it sleeps.
//
// The queue holds its lock for some 50 nanoseconds. To put a goroutine to sleep and to wake it
// again costs ten times as much. sync.Mutex knows this and spins, too, but only if no other
// goroutine waits for the same processor. When items come fast, a woken worker waits there all
// the time. Then whoever finds the lock taken goes to sleep, the woken worker runs in its
// place, finds the lock taken, and goes to sleep as well. This is a convoy: each item costs
// a sleep or more.
//
// Between two tries, the goroutine does not touch the lock. Meanwhile the one that has it can
// take it several times in a row, and all that it guards stays in the caches of one processor.
type spinMutex struct {
	sync.Mutex
}

// Lock locks m. The compiler does not inline it. Callers that a queue spends its time in
// therefore write its two steps out; for them, this saves 3 to 10 percent.
func (m *spinMutex) Lock() {
	if !m.TryLock() {
		m.lockSlow()
	}
}

// lockSlow is Lock after a TryLock that failed.
func (m *spinMutex) lockSlow() {
	if !m.spin(pause) {
		m.Mutex.Lock()
	}
}

// lockTries is how often spin tries. It is bounded because the holder may have lost its
// processor, and then it will not unlock soon.
const lockTries = 10

// spin returns true if it got the lock.
func (m *spinMutex) spin(pause func()) bool {
	for range lockTries {
		pause()
		if m.TryLock() {
			return true
		}
	}
	return false
}

// pause takes about a microsecond. It does not read a clock, because the clock of a synctest
// bubble stands still. It adds atomically, because the compiler leaves that alone.
func pause() {
	var steps atomic.Int32
	for range 200 {
		steps.Add(1)
	}
}
