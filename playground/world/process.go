package world

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/minis"
	"github.com/loopwright/loopwright/mini"
	"github.com/loopwright/loopwright/trace"
	"github.com/loopwright/loopwright/xray"
)

// leaseKey is the lease for which the processes of mini compete.
var leaseKey = mini.Request{Namespace: "default", Name: "mini"}

// Process is one of mini's: all of its controllers, with a flight recorder of its own.
type Process struct {
	Name     string
	Recorder *trace.Recorder
	Steps    *xray.Steps // disturbs its connection

	manager *mini.Manager
	killed  atomic.Bool
	stop    context.CancelFunc
	ended   chan struct{} // closed when it has ended
}

// newProcess makes a process that is ready to run. With elect, it works only while it leads.
func newProcess(config *rest.Config, name string, events int, elect bool) (*Process, error) {
	p := &Process{Name: name, Recorder: trace.New(events), ended: make(chan struct{})}
	p.Steps = xray.NewSteps(p.Recorder)
	config.UserAgent = name
	config.WarningHandler = rest.NoWarnings{} // each request about Endpoints would print one
	config.Wrap(p.Steps.Wrap)
	config.Wrap(p.cable)
	cluster, err := mini.NewCluster(config, scheme.Scheme)
	if err != nil {
		return nil, err
	}
	cluster.Trace = p.Recorder
	p.manager = mini.NewManager(cluster)
	for _, maker := range minis.Makers {
		made, err := maker.Make(p.manager)
		if err != nil {
			return nil, fmt.Errorf("making %s: %w", maker.Original, err)
		}
		for _, c := range made {
			p.Steps.HasWorkers()
			next := c.Reconciler
			c.Reconciler = mini.ReconcilerFunc(func(ctx context.Context, req mini.Request) (mini.Result, error) {
				if err := p.Steps.Wait(ctx); err != nil {
					return mini.Result{}, err
				}
				return next.Reconcile(ctx, req)
			})
			p.manager.AddController(c)
		}
	}
	if elect {
		p.manager.Elector = &mini.Elector{
			Client:   &mini.Client{Cluster: cluster},
			Lease:    leaseKey,
			Identity: name,
		}
	}
	return p, p.manager.Err()
}

// errKilled is what a process that was killed gets instead of an answer.
var errKilled = errors.New("this process was killed")

// cable is cut when the process is killed: a dead process writes nothing more, and doesn't
// release its lease.
func (p *Process) cable(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if p.killed.Load() {
			return nil, errKilled
		}
		return next.RoundTrip(r)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip calls f.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// run runs the process until ctx ends, or it's killed.
func (p *Process) run(ctx context.Context) error {
	defer close(p.ended)
	err := p.manager.Run(ctx)
	if p.killed.Load() {
		return nil
	}
	return err
}

// Alive returns false after the process was killed.
func (p *Process) Alive() bool { return !p.killed.Load() }

func (p *Process) kill() {
	if p.killed.CompareAndSwap(false, true) {
		p.stop()
	}
}
