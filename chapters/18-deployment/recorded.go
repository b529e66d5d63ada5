package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/loopwright/loopwright/trace"
)

// requests puts what becomes of the sizes of ReplicaSets into the timeline.
type requests struct {
	recorder *trace.Recorder

	mu    sync.Mutex       // guards sizes
	sizes map[string]int32 // of the ReplicaSets, by their names
}

// made is how many ReplicaSets were made.
func (r *requests) made() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.sizes)
}

// recorded is a connection whose writes of ReplicaSets are in the timeline.
type recorded struct {
	next     http.RoundTripper
	requests *requests
}

// RoundTrip implements http.RoundTripper.
func (r *recorded) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := r.next.RoundTrip(request)
	// /apis/apps/v1/namespaces/shop/replicasets/web-abc; with a status behind it, it is the other controller's.
	path := strings.Split(strings.Trim(request.URL.Path, "/"), "/")
	isWrite := request.Method == http.MethodPost || request.Method == http.MethodPatch
	if err != nil || !isWrite || len(path) < 6 || len(path) > 7 || path[5] != "replicasets" || response.StatusCode >= http.StatusBadRequest {
		return response, err
	}
	body, err := io.ReadAll(response.Body)
	response.Body.Close()
	response.Body = io.NopCloser(bytes.NewReader(body))
	var written appsv1.ReplicaSet
	if err == nil {
		err = json.Unmarshal(body, &written)
	}
	if err == nil && written.Labels["app"] == "web" { // and not a probe
		r.requests.wrote(&written)
	}
	return response, err
}

func (r *requests) wrote(rs *appsv1.ReplicaSet) {
	r.mu.Lock()
	from, isOld := r.sizes[rs.Name]
	r.sizes[rs.Name] = *rs.Spec.Replicas
	r.mu.Unlock()
	what := fmt.Sprintf("made, with %d", *rs.Spec.Replicas)
	switch {
	case isOld && from == *rs.Spec.Replicas:
		what = "is revision " + rs.Annotations["deployment.kubernetes.io/revision"]
	case isOld:
		what = fmt.Sprintf("from %d to %d", from, *rs.Spec.Replicas)
	}
	r.recorder.Record(trace.Event{
		Kind: trace.Note, Layer: "rollout", Object: "ReplicaSet", Name: "of version " + rs.Spec.Template.Annotations["version"], Reason: what,
	})
}
