// Package operators has something for each operator, in all the places where a switch
// could break the code. Nothing runs it.
package operators

import (
	"errors"
	"sync"
	"time"
)

const (
	limit  = 3
	settle = 2 * time.Second
)

type state int

const (
	idle state = iota
	busy
)

type pair[T comparable] struct {
	key   T
	n     int
	open  bool
	state state
}

var start = limit * 2

func arithmetic[T ~int](a, b T) T {
	c := a + b*2
	c <<= 1
	c++
	return -c
}

func words(a, b string) string { return a + b }

func compare(p *pair[string], wait time.Duration) (string, error) {
	if p.n >= limit && !p.open || wait > settle {
		return "", errors.New("no") // a comment
	}
	p.open = p.key != "" // the order of this and the next matters
	p.n = max(p.n, 4)
	return p.key, nil
}

func order(p, q *pair[int], f func()) {
	p.n = 1
	q.open = true
	q.n = p.n + 1
	f()
	p.state = busy
	x := p.n
	y := x + 1
	_ = y
}

func touch(p *pair[int]) { p.open = true }

func calls(p *pair[int]) {
	touch(p) // the next statement has nothing to do with it
	p.n++
	touch(p)
	p.open = false
}

func loops(list []int, out chan<- int) (sum int) {
	var mu sync.Mutex
	mu.Lock()
	defer mu.Unlock()
outer:
	for i := 0; i < len(list); i++ {
		switch {
		case list[i] == 0:
			continue outer
		case list[i] < 0:
			break outer
		default:
			sum += list[i]
			out <- sum
		}
	}
	for _, n := range list {
		if v, ok := any(n).(int); ok {
			sum -= v
		} else if n > 1 {
			sum = 0
		} else {
			sum--
			break
		}
	}
	go func() { out <- 1 }()
	return
}

func waits(changed *sync.Cond, p *pair[int]) *pair[int] {
	for p.n == 0 {
		changed.Wait()
	}
	for {
		if p.n--; p.n == 0 {
			break
		}
	}
	changed.Broadcast()
	return &pair[int]{key: p.key, state: idle, open: true, n: 0}
}

func constants() (array [limit]int, table map[string]int, ok bool) {
	const inner = 4
	list := make([]int, 1, 8)
	table = make(map[string]int, 16)
	array[1] = inner
	table["a"] = len(list)
	switch array[0] {
	case 0, inner:
		ok = true
	case 2:
		ok = false
		fallthrough
	default:
		func() { list = nil }()
	}
	return array, table, ok == true
}
