package filters

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// These bound the memory and the goroutines: nobody has more than a few scrapers, but anybody can send tokens.
const (
	maxAnswers   = 1000
	maxQuestions = 100 // that are being asked
)

var errBusy = errors.New("too many other questions have no answer yet")

// answers remembers what somebody was asked for, for as long as the answer said. Who asks for the same at
// the same time waits for one answer. Errors are not remembered.
type answers[K comparable, V any] struct {
	mu    sync.Mutex // guards the map; an answer's fields are set before its channel is closed
	known map[K]*answer[V]
	asked int // how many of them have no answer yet
}

type answer[V any] struct {
	done  chan struct{} // closed by fill, when the rest is set
	value V
	err   error
	until time.Time
}

func newAnswers[K comparable, V any]() *answers[K, V] {
	return &answers[K, V]{known: map[K]*answer[V]{}}
}

// get returns what is known, or asks. The question is asked in a goroutine of its own, and is not cancelled with the
// context of the first who had it: others may be waiting. So ask must have a limit of its own.
func (a *answers[K, V]) get(ctx context.Context, key K, ask func(context.Context) (V, time.Duration, error)) (V, error) {
	found, mine, err := a.find(key)
	switch {
	case err != nil:
		var none V
		return none, err
	case mine:
		go a.fill(context.WithoutCancel(ctx), key, found, ask)
	}
	select {
	case <-found.done:
		return found.value, found.err
	case <-ctx.Done():
		var none V
		return none, context.Cause(ctx)
	}
}

// fill makes an error of a panic, as net/http would: it costs a request, and not the process.
func (a *answers[K, V]) fill(ctx context.Context, key K, to *answer[V], ask func(context.Context) (V, time.Duration, error)) {
	defer func() {
		if r := recover(); r != nil {
			to.err = fmt.Errorf("a question has panicked: %v", r)
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		a.asked--
		if to.err != nil && a.known[key] == to {
			delete(a.known, key)
		}
		close(to.done)
	}()
	value, keep, err := ask(ctx)
	to.value, to.until, to.err = value, time.Now().Add(keep), err
}

// find returns the answer for the key. If it is the caller's, the caller has to fill it.
func (a *answers[K, V]) find(key K) (found *answer[V], mine bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	if found := a.known[key]; found != nil && !found.expired(now) {
		return found, false, nil
	}
	if a.asked >= maxQuestions {
		return nil, false, errBusy
	}
	if len(a.known) >= maxAnswers {
		a.makeRoomLocked(now)
	}
	found = &answer[V]{done: make(chan struct{})}
	a.known[key] = found
	a.asked++
	return found, true, nil
}

// expired is false for an answer that is still asked for.
func (n *answer[V]) expired(now time.Time) bool {
	select {
	case <-n.done:
		return !now.Before(n.until)
	default:
		return false
	}
}

// makeRoomLocked forgets all that has expired, or else the answer that will be the first to. Those that
// are asked for stay, and there are fewer of them than there is room.
func (a *answers[K, V]) makeRoomLocked(now time.Time) {
	var first K
	var firstUntil time.Time
	found := false
	for key, n := range a.known {
		if n.expired(now) {
			delete(a.known, key)
			continue
		}
		select {
		case <-n.done:
			if !found || n.until.Before(firstUntil) {
				first, firstUntil, found = key, n.until, true
			}
		default:
		}
	}
	if len(a.known) >= maxAnswers && found {
		delete(a.known, first)
	}
}
