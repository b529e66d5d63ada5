package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/loopwright/loopwright/benchmarks/growth"
)

// tell prints a figure as soon as a measured process has it: one that grows too large and is ended leaves what it has found.
func tell(figure string, value float64) {
	_ = json.NewEncoder(os.Stdout).Encode(map[string]float64{figure: value})
}

// measure is the process of one side. The server is this program's own, unless there's a kubeconfig.
func measure(s side, f form, objects int, server, kubeconfig string) error {
	silence()
	config := &rest.Config{Host: server}
	if kubeconfig != "" {
		var err error
		if config, err = clientcmd.BuildConfigFromFlags("", kubeconfig); err != nil {
			return err
		}
	}
	config.QPS = -1
	asked := &requests{asked: make(chan struct{}, 1)}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { asked.next = next; return asked })

	p := newProgress(objects)
	before, heap := liveHeap(), watchHeap()
	clock := startClock()
	going, err := s.start(program{config: config, form: f, seen: p.see})
	if err != nil {
		return err
	}
	if err := p.wait(p.first, "the first reconcile"); err != nil {
		return err
	}
	clock.tell("first")
	if err := p.wait(p.done, "all reconciles"); err != nil {
		return err
	}
	clock.tell("all")
	tell(growth.Seen, float64(objects))
	tell("peak-heap-B", heap.stop())
	tell("peak-rss-B", memory("VmHWM"))
	live := liveHeap()
	tell("heap-B", live)
	tell("object-B", (live-before)/float64(objects))
	tell("rss-B", restingMemory())
	if server != "" {
		if err := measureRelists(going, p, asked, server); err != nil {
			return err
		}
	}
	return going.stop()
}

// measureRelists lets an hour pass that the program hears nothing of: what it knows is too old then to watch on from. Then it
// does so once more, with one change, while somebody reads. The pause that a client makes before it asks for the objects again
// is random, and doesn't count.
func measureRelists(going running, p *progress, asked *requests, server string) error {
	relist := func() error {
		p.expect()
		asked.forget()
		response, err := http.Get(server + "/next")
		if err != nil {
			return err
		}
		if err := response.Body.Close(); err != nil {
			return err
		}
		return p.wait(asked.asked, "a request for the objects")
	}

	forgetPeak()
	if err := relist(); err != nil {
		return err
	}
	clock := startClock()
	if err := p.wait(p.done, "the reconciles of an hour"); err != nil {
		return err
	}
	tell("catch-up-sec", clock.time().Seconds())
	p.rest() // a program may go on with reconciles in vain
	tell("catch-up-cpu-sec", clock.processorTime().Seconds())
	tell("catch-up-reconciles", float64(p.reconciles.Load()))
	tell("catch-up-peak-rss-B", memory("VmHWM"))

	middle := p.world.objects / 2
	if err := going.read(namespaceOf(middle), nameOf(middle)); err != nil {
		return fmt.Errorf("reading an object: %w", err)
	}
	if err := relist(); err != nil {
		return err
	}
	r := startReader(func() { _ = going.read(namespaceOf(middle), nameOf(middle)) })
	err := p.wait(p.done, "the reconcile of the last object")
	longest, blocked := r.stop()
	if err != nil {
		return err
	}
	tell("longest-read-sec", longest.Seconds())
	tell("blocked-sec", blocked)
	return nil
}

// clock is the time on the wall, and that of all processors.
type clock struct {
	began time.Time
	cpu   time.Duration
}

func startClock() clock { return clock{time.Now(), processorTime()} }

func (c clock) time() time.Duration          { return time.Since(c.began) }
func (c clock) processorTime() time.Duration { return processorTime() - c.cpu }

func (c clock) tell(what string) {
	tell(what+"-sec", c.time().Seconds())
	tell(what+"-cpu-sec", c.processorTime().Seconds())
}
