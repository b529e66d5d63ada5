package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"

	ctrl "github.com/loopwright/loopwright"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/apiutil"
	"github.com/loopwright/loopwright/manager/debug"
	"github.com/loopwright/loopwright/trace"
)

// looker is a controller's reconciler. It says whether one object is in the cache.
type looker struct {
	cache    client.Reader
	looksFor client.ObjectKey
	found    chan<- error // sent once
}

func (l looker) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	if request.NamespacedName == l.looksFor {
		l.found <- l.cache.Get(ctx, l.looksFor, &corev1.ConfigMap{})
	}
	return ctrl.Result{}, nil
}

type independentPart struct{}

func (independentPart) NeedLeaderElection() bool { return false }

func (independentPart) Start(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// groupsIn has a line for each group and for its start and its end, in the order of the events. It leaves the
// warm-up out, which is told to end together with what needs the lead: either may end first.
func groupsIn(events []trace.Event) []string {
	var lines []string
	last := ""
	for _, e := range events {
		if e.Layer != "manager" || e.Name == "warm-up" || e.Kind != trace.Start && e.Kind != trace.Stop {
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

// reconcilesOf asks what the manager serves next to its profiles for the reconciles of one object.
func reconcilesOf(recorder *trace.Recorder, object client.ObjectKey) []string {
	answer := httptest.NewRecorder()
	request := httptest.NewRequest(http.MethodGet, debug.ReconcilesPath+"?format=json&name="+object.Name, nil)
	debug.Reconciles(recorder).ServeHTTP(answer, request)
	var shown struct {
		Controllers []struct {
			Name       string
			Reconciles []struct{ Result, Reasons string }
		}
	}
	if err := json.Unmarshal(answer.Body.Bytes(), &shown); err != nil {
		return []string{err.Error()}
	}
	var lines []string
	for _, c := range shown.Controllers {
		for _, r := range c.Reconciles {
			lines = append(lines, fmt.Sprintf("controller %s: %s, because of %s", c.Name, r.Result, strings.ReplaceAll(r.Reasons, object.String(), object.Name)))
		}
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
