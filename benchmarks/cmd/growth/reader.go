package main

import (
	"bytes"
	"fmt"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"time"
)

// reader reads an object ten thousand times a second, and notes the longest read. The garbage collector and other goroutines
// have their share in that. How long locks have blocked the reader, Go's block profile says.
type reader struct {
	end     chan struct{} // closed by stop
	done    sync.WaitGroup
	longest time.Duration
	before  float64
}

func startReader(read func()) *reader {
	runtime.SetBlockProfileRate(1) // every wait
	r := &reader{end: make(chan struct{}), before: blockedReaders()}
	r.done.Go(func() { r.run(read) })
	return r
}

func (r *reader) run(read func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for {
		began := time.Now()
		read()
		r.longest = max(r.longest, time.Since(began))
		select {
		case <-r.end:
			return
		default:
			time.Sleep(100 * time.Microsecond)
		}
	}
}

// stop returns the longest read, and for how many seconds locks have blocked the reader in all.
func (r *reader) stop() (longest time.Duration, blocked float64) {
	close(r.end)
	r.done.Wait()
	runtime.SetBlockProfileRate(0)
	return r.longest, blockedReaders() - r.before
}

// blockedReaders adds up what the block profile's text says of readers: for how many cycles each place was blocked.
func blockedReaders() (seconds float64) {
	var text bytes.Buffer
	if err := pprof.Lookup("block").WriteTo(&text, 1); err != nil {
		panic(err)
	}
	var perSecond, cycles, times float64
	for place := range strings.SplitSeq(text.String(), "\n\n") {
		for line := range strings.Lines(place) {
			_, _ = fmt.Sscanf(line, "cycles/second=%f", &perSecond)
			_, _ = fmt.Sscanf(line, "%f %f @", &cycles, &times)
			if strings.Contains(line, "(*reader).run+") {
				seconds += cycles / perSecond
				break
			}
		}
	}
	return seconds
}
