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

// measured is the process of one side.
type measured struct {
	side     side
	form     form
	server   string // this program's own; empty if it's a real one
	config   *rest.Config
	progress *progress
	asked    *requests
	going    running
}

func newMeasured(s side, f form, objects int, server, kubeconfig string) (*measured, error) {
	m := &measured{side: s, form: f, server: server, config: &rest.Config{Host: server},
		progress: newProgress(objects), asked: &requests{asked: make(chan struct{}, 1)}}
	if kubeconfig != "" {
		var err error
		if m.config, err = clientcmd.BuildConfigFromFlags("", kubeconfig); err != nil {
			return nil, err
		}
	}
	m.config.QPS = -1
	m.config.Wrap(func(next http.RoundTripper) http.RoundTripper { m.asked.next = next; return m.asked })
	return m, nil
}

// run measures the start. If the server is this program's own, an hour passes then that the side hears nothing of, so that what
// it knows is too old to watch on from.
func (m *measured) run(p profile) error {
	silence()
	before := liveHeap()
	if err := p.during("start", m.start); err != nil {
		return err
	}
	tell("object-B", (liveHeap()-before)/float64(m.progress.world.objects))
	tell("rss-B", restingMemory())
	if m.server != "" {
		if err := p.during("away", m.comeBack); err != nil {
			return err
		}
	}
	return m.going.stop()
}

func (m *measured) start() (err error) {
	clock := startClock()
	if m.going, err = m.side.start(program{config: m.config, form: m.form, seen: m.progress.see}); err != nil {
		return err
	}
	<-m.progress.first
	tell("first-sec", clock.time().Seconds())
	<-m.progress.done
	clock.tell("all")
	tell("peak-rss-B", memory("VmHWM"))
	tell(growth.Seen, float64(m.progress.reconciles.Load()))
	return nil
}

// comeBack begins the next epoch. The clock starts when the side asks for all objects, because the pause before that is random.
func (m *measured) comeBack() error {
	middle := m.progress.world.objects / 2
	read := func() error { return m.going.read(namespaceOf(middle), nameOf(middle)) }
	if err := read(); err != nil {
		return fmt.Errorf("reading an object: %w", err)
	}
	forgetPeak()
	m.progress.expect()
	m.asked.forget()
	response, err := http.Get(m.server + "/next")
	if err != nil {
		return err
	}
	if err := response.Body.Close(); err != nil {
		return err
	}
	<-m.asked.asked
	clock, reader := startClock(), startReader(func() { _ = read() })
	<-m.progress.done
	tell("catch-up-sec", clock.time().Seconds())
	tell("longest-read-sec", reader.stop().Seconds())
	m.progress.rest() // a program may go on with reconciles in vain
	tell("catch-up-cpu-sec", clock.processorTime().Seconds())
	tell("catch-up-reconciles", float64(m.progress.reconciles.Load()))
	tell("catch-up-peak-rss-B", memory("VmHWM"))
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
