package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"

	ctrl "github.com/loopwright/loopwright"
	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/client/apiutil"
)

var quiet = logr.Discard()

// log is what happened, in order.
type log struct {
	mu  sync.Mutex // guards all
	all []string
}

func (l *log) say(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, fmt.Sprintf(format, args...))
}

func (l *log) lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.all)
}

// wait waits until something has happened so many times.
func (l *log) wait(ctx context.Context, times int) error {
	for len(l.lines()) < times {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// part says when it starts and when it ends, and whether it can read from the cache.
type part struct {
	name         string
	began, ended *log
	manager      ctrl.Manager
}

func (p *part) Start(ctx context.Context) error {
	p.began.say("%s; the cache is full: %t", p.name, p.manager.GetCache().WaitForCacheSync(ctx))
	<-ctx.Done()
	p.ended.say("%s", p.name)
	return nil
}

// controllerPart needs the lead, as everything does that does not say otherwise.
type controllerPart struct{ part }

type independentPart struct{ part }

func (*independentPart) NeedLeaderElection() bool { return false }

// serverPart is an HTTP server that says when it is started and when it ends.
func serverPart(began, ended *log) manager.Runnable {
	listener := &pretendListener{began: began, ended: ended, closed: make(chan struct{})}
	return &manager.Server{Name: "demo", Server: &http.Server{ReadHeaderTimeout: time.Second}, Listener: listener}
}

// mapperOf asks as somebody who may ask.
func mapperOf(config *rest.Config) func(*rest.Config, *http.Client) (meta.RESTMapper, error) {
	return func(*rest.Config, *http.Client) (meta.RESTMapper, error) {
		httpClient, err := rest.HTTPClientFor(config)
		if err != nil {
			return nil, err
		}
		return apiutil.NewDynamicRESTMapper(config, httpClient)
	}
}
