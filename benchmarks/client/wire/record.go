package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/serializer"
)

// Request is what was on the wire, and the code of the answer.
type Request struct {
	Line    string // method, path and query
	Headers []string
	Body    string // as JSON, if it can be read
	Status  int
}

// Recorder writes down what passes it, except for discovery: what a client asks to find out how a
// kind is called is not part of the call.
type Recorder struct {
	Next http.RoundTripper

	mu       sync.Mutex // guards requests
	requests []Request
}

// discovery is the path of a group or a version, without a resource.
var discovery = regexp.MustCompile(`^/(api(/[^/]+)?|apis(/[^/]+){0,2})$`)

// headers are those that a client sets for the server to see.
var headers = []string{"Accept", "Content-Type", "User-Agent", "Impersonate-User"}

// RoundTrip records a request and sends it to Next.
func (r *Recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	return r.send(request, r.Next)
}

// Through records as r does, and sends by another transport.
func (r *Recorder) Through(next http.RoundTripper) http.RoundTripper { return through{r, next} }

type through struct {
	*Recorder
	next http.RoundTripper
}

func (t through) RoundTrip(request *http.Request) (*http.Response, error) {
	return t.send(request, t.next)
}

func (r *Recorder) send(request *http.Request, next http.RoundTripper) (*http.Response, error) {
	if p := request.URL.Path; discovery.MatchString(p) {
		return next.RoundTrip(request)
	}
	recorded := Request{Line: request.Method + " " + request.URL.Path}
	if query := request.URL.Query().Encode(); query != "" { // sorted by name
		recorded.Line += "?" + query
	}
	for _, name := range headers {
		for _, value := range request.Header.Values(name) {
			recorded.Headers = append(recorded.Headers, name+": "+value)
		}
	}
	if request.Body != nil {
		body, err := io.ReadAll(request.Body)
		if err != nil {
			return nil, err
		}
		if err := request.Body.Close(); err != nil {
			return nil, err
		}
		recorded.Body = readable(body)
		request = request.Clone(request.Context())
		request.Body = io.NopCloser(bytes.NewReader(body))
	}
	response, err := next.RoundTrip(request)
	if response != nil {
		recorded.Status = response.StatusCode
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests = append(r.requests, recorded)
	return response, err
}

// Taken returns what was recorded since the last call of Taken.
func (r *Recorder) Taken() []Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	taken := r.requests
	r.requests = nil
	return taken
}

var codecs = serializer.NewCodecFactory(Scheme)

// readable writes a body as JSON with sorted keys. A body in protobuf is decoded first.
func readable(body []byte) string {
	var parsed any
	if json.Unmarshal(body, &parsed) == nil {
		settle(parsed)
		sorted, _ := json.Marshal(parsed) // it has just been parsed
		return string(sorted)
	}
	if object, kind, err := codecs.UniversalDeserializer().Decode(body, nil, nil); err == nil {
		return fmt.Sprintf("protobuf of %s: %s", kind, text(object))
	} else if bytes.HasPrefix(body, []byte("k8s\x00")) {
		return fmt.Sprintf("protobuf that cannot be read: %v", err)
	}
	return fmt.Sprintf("%q", body)
}

// text is an object as JSON with sorted keys.
func text(object any) string {
	encoded, err := json.Marshal(object)
	if err != nil {
		return fmt.Sprintf("%#v", object)
	}
	var parsed any
	if err := json.Unmarshal(encoded, &parsed); err != nil {
		return string(encoded)
	}
	settle(parsed)
	sorted, err := json.Marshal(parsed)
	if err != nil {
		return string(encoded)
	}
	return string(sorted)
}

// settle sorts the managers of fields. The server sorts them by time, in seconds: two that change an
// object one after the other come in one order or the other.
func settle(parsed any) {
	switch parsed := parsed.(type) {
	case map[string]any:
		if managers, ok := parsed["managedFields"].([]any); ok {
			slices.SortFunc(managers, func(a, b any) int { return strings.Compare(nameOf(a), nameOf(b)) })
		}
		for _, value := range parsed {
			settle(value)
		}
	case []any:
		for _, value := range parsed {
			settle(value)
		}
	}
}

func nameOf(manager any) string {
	m, _ := manager.(map[string]any)
	return fmt.Sprint(m["manager"], m["operation"], m["subresource"])
}

// blurs replace what differs from run to run.
var blurs = []struct {
	pattern *regexp.Regexp
	by      string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "UID"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "TIME"},
	{regexp.MustCompile(`"resourceVersion":"[1-9]\d*"`), `"resourceVersion":"VERSION"`},
	{regexp.MustCompile(`resourceVersion=[1-9]\d*`), "resourceVersion=VERSION"},
	{regexp.MustCompile(`(precondition|record) \(\d+\)`), "$1 (VERSION)"},
	{regexp.MustCompile(`"continue":"[^"]+"`), `"continue":"TOKEN"`},
	{regexp.MustCompile(`continue=ey[^& ]+`), "continue=TOKEN"},
	{regexp.MustCompile(`"token":"[^"]+"`), `"token":"TOKEN"`},
	{regexp.MustCompile(`-generated-[a-z0-9]{5}`), "-generated-NNNNN"},
	{regexp.MustCompile(`kube-api-access-[a-z0-9]{5}`), "kube-api-access-NNNNN"},
}

// blur leaves out what differs from run to run, and from one side to the other.
func (t *Take) blur(text string) string {
	text = strings.NewReplacer(t.Namespace, "NAMESPACE", t.Name, "NAME").Replace(text)
	for _, b := range blurs {
		text = b.pattern.ReplaceAllString(text, b.by)
	}
	return text
}
