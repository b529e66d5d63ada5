package main

import (
	"sync"
	"time"
)

// reader reads an object a thousand times a second, and notes the longest read. The garbage collector and other goroutines have
// their share in that.
type reader struct {
	end     chan struct{} // closed by stop
	done    sync.WaitGroup
	longest time.Duration
}

func startReader(read func()) *reader {
	r := &reader{end: make(chan struct{})}
	r.done.Go(func() {
		for {
			began := time.Now()
			read()
			r.longest = max(r.longest, time.Since(began))
			select {
			case <-r.end:
				return
			case <-time.After(time.Millisecond):
			}
		}
	})
	return r
}

func (r *reader) stop() (longest time.Duration) {
	close(r.end)
	r.done.Wait()
	return r.longest
}
