package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/loopwright/loopwright/trace"
)

// requests puts the writes of the controller into the timeline, and counts them.
type requests struct {
	recorder *trace.Recorder
	sent     atomic.Int64
	recorded atomic.Int64
}

// count is how many there were, and whether all of them are in the timeline.
func (r *requests) count() (n int, complete bool) {
	recorded := r.recorded.Load()
	return int(recorded), recorded == r.sent.Load()
}

// recorded is a connection whose writes of Endpoints are in the timeline.
type recorded struct {
	next     http.RoundTripper
	requests *requests
}

var verbs = map[string]string{http.MethodPost: "create", http.MethodPut: "update", http.MethodDelete: "delete"}

// RoundTrip implements http.RoundTripper.
func (r *recorded) RoundTrip(request *http.Request) (*http.Response, error) {
	verb, isWrite := verbs[request.Method]
	// /api/v1/namespaces/shop/endpoints/web, and one with a name in the body
	path := strings.Split(strings.Trim(request.URL.Path, "/"), "/")
	if !isWrite || len(path) < 5 || path[4] != "endpoints" {
		return r.next.RoundTrip(request)
	}
	began := time.Now()
	r.requests.sent.Add(1)
	response, err := r.next.RoundTrip(request)
	e := trace.Event{Kind: trace.Write, Layer: "endpoints", Op: verb, Object: "Endpoints", Namespace: path[3], Took: time.Since(began)}
	if len(path) > 5 {
		e.Name = path[5]
	}
	if err != nil {
		e.Outcome, e.Reason = trace.Failed, err.Error()
	} else if answer := answerOf(response); response.StatusCode >= http.StatusBadRequest {
		e.Outcome, e.Reason = trace.Failed, answer.Message
	} else {
		e.Name, e.Version = cmp.Or(e.Name, answer.Metadata.Name), answer.Metadata.ResourceVersion
	}
	r.requests.recorder.Record(e)
	r.requests.recorded.Add(1)
	return response, err
}

// answer is an object, or a Status that says why there is none.
type answer struct {
	Message  string
	Metadata struct{ Name, ResourceVersion string }
}

// answerOf reads an answer in JSON, and puts it back.
func answerOf(response *http.Response) (of answer) {
	body, err := io.ReadAll(response.Body)
	response.Body.Close()
	response.Body = io.NopCloser(bytes.NewReader(body))
	if err != nil || json.Unmarshal(body, &of) != nil {
		of.Message = response.Status
	}
	return of
}
