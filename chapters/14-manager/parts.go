package main

import (
	"context"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/apiutil"
	"github.com/loopwright/loopwright/trace"
)

// controllerPart needs the lead, as everything does that does not say otherwise. It looks once whether it can
// read from the cache.
type controllerPart struct {
	cache    client.Reader
	looksFor client.ObjectKey
	found    chan<- error // sent once, by Start
}

func (p *controllerPart) Start(ctx context.Context) error {
	p.found <- p.cache.Get(ctx, p.looksFor, &corev1.ConfigMap{})
	<-ctx.Done()
	return nil
}

type independentPart struct{}

func (independentPart) NeedLeaderElection() bool { return false }

func (independentPart) Start(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// groupsIn has a line for each group and for its start and its end, in the order of the events.
func groupsIn(events []trace.Event) []string {
	var lines []string
	last := ""
	for _, e := range events {
		if e.Layer != "manager" || e.Kind != trace.Start && e.Kind != trace.Stop {
			continue
		}
		if e.Name == last {
			lines[len(lines)-1] += ", " + e.Op
		} else {
			lines = append(lines, e.Name+": "+e.Op)
		}
		last = e.Name
	}
	return lines
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
