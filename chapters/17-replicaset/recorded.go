package main

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/loopwright/loopwright/trace"
)

// requests puts the writes of a program into the timeline, and counts those of Pods.
type requests struct {
	recorder *trace.Recorder

	mu      sync.Mutex // guards counted
	counted map[string]int
}

// counts are how many Pods were created, deleted and patched, and how many of these requests were refused.
func (r *requests) counts() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.counted)
}

// recorded is a connection whose writes are in the timeline.
type recorded struct {
	next     http.RoundTripper
	requests *requests
}

var verbs = map[string]string{http.MethodPost: "create", http.MethodPatch: "patch", http.MethodDelete: "delete"}

// RoundTrip implements http.RoundTripper.
func (r *recorded) RoundTrip(request *http.Request) (*http.Response, error) {
	verb, isWrite := verbs[request.Method]
	// /api/v1/namespaces/shop/pods/web-abcde, and one with a name in the body
	path := strings.Split(strings.Trim(request.URL.Path, "/"), "/")
	if !isWrite || len(path) < 5 || path[4] != "pods" {
		return r.next.RoundTrip(request)
	}
	began := time.Now()
	response, err := r.next.RoundTrip(request)
	e := trace.Event{Kind: trace.Write, Layer: "replicaset", Op: verb, Object: "Pod", Namespace: path[3], Took: time.Since(began)}
	if err != nil {
		e.Outcome, e.Reason = trace.Failed, err.Error()
	} else if answer := answerOf(response); response.StatusCode >= http.StatusBadRequest {
		e.Outcome, e.Reason = trace.Failed, answer.Message
		verb = "refused " + verb
	} else {
		e.Name, e.Version = answer.Metadata.Name, answer.Metadata.ResourceVersion
	}
	r.requests.recorder.Record(e) // whoever waits for the count finds it in the timeline
	r.requests.mu.Lock()
	r.requests.counted[verb]++
	r.requests.mu.Unlock()
	return response, err
}

// answer is a Pod, or a Status that says why there is none.
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
