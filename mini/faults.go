package mini

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Fault is something that goes wrong with a request.
type Fault string

// The faults. A watch that is late makes a cache stale.
const (
	NoFault    Fault = ""
	Refused    Fault = "refused"     // the API server never gets the request
	AnswerLost Fault = "answer lost" // it carries it out, and the client gets an error
	Conflict   Fault = "conflict"    // 409: another client was faster
	Expired    Fault = "expired"     // 410: the API server has forgotten this version
	WatchCut   Fault = "watch cut"   // the watch breaks in or after its first event
	WatchLate  Fault = "watch late"  // its first event comes 3 s later; others wait
)

// faultsOf has the faults that may hit a request, by its verb.
var faultsOf = map[string][]Fault{
	"GET":    {Refused},
	"WATCH":  {Refused, Expired, WatchCut, WatchLate},
	"POST":   {Refused, AnswerLost},
	"PUT":    {Refused, AnswerLost, Conflict},
	"PATCH":  {Refused, AnswerLost, Conflict},
	"DELETE": {Refused, AnswerLost},
}

// Call names a request without its time: the second PUT to /api/v1/nodes/a is the same
// call, whatever else goes on.
type Call struct {
	Verb, Path string // the verb is that of HTTP, or WATCH
	Try        int    // 1 is the first request with this verb and path
}

// Choice says which fault hits a call. It's a pure function.
type Choice func(Call) Fault

// Seed returns a choice in which one call in eight goes wrong. Each seed hits others.
// From the sixth try on, a call goes well, so that a bad day ends.
func Seed(seed uint64) Choice {
	return func(c Call) Fault {
		hash := fnv.New64a()
		_, _ = fmt.Fprintf(hash, "%s %s %d", c.Verb, c.Path, c.Try) // it takes everything
		random := rand.New(rand.NewPCG(seed, hash.Sum64()))
		possible := faultsOf[c.Verb]
		if c.Try > 5 || len(possible) == 0 || random.IntN(8) > 0 {
			return NoFault
		}
		return possible[random.IntN(len(possible))]
	}
}

// Injected is a fault that has hit a call.
type Injected struct {
	Call
	Fault
}

// String is a line of a story.
func (i Injected) String() string {
	return fmt.Sprintf("%s %s, try %d: %s", i.Verb, i.Path, i.Try, i.Fault)
}

// Only returns a choice of the faults of a story, and no others.
func Only(story []Injected) Choice {
	return func(c Call) Fault {
		for _, i := range story {
			if i.Call == c {
				return i.Fault
			}
		}
		return NoFault
	}
}

// Faults is a connection to an API server on which requests go wrong:
// config.Wrap(faults.Wrap).
type Faults struct {
	Choose Choice // nil: nothing goes wrong

	next  http.RoundTripper // set by Wrap, before the first request
	mu    sync.Mutex        // guards all below
	tries map[Call]int      // by the call, with a Try of 0
	story []Injected
}

// Wrap puts f before next.
func (f *Faults) Wrap(next http.RoundTripper) http.RoundTripper {
	f.next = next
	return f
}

// Story returns what has gone wrong so far, in this order.
func (f *Faults) Story() []Injected {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.story)
}

// choose names the request as a call, and notes what hits it.
func (f *Faults) choose(r *http.Request) Fault {
	call := Call{Verb: r.Method, Path: r.URL.Path}
	if r.URL.Query().Get("watch") == "true" {
		call.Verb = "WATCH"
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.tries == nil {
		f.tries = map[Call]int{}
	}
	f.tries[call]++
	call.Try = f.tries[call]
	if f.Choose == nil {
		return NoFault
	}
	fault := f.Choose(call)
	if fault != NoFault {
		f.story = append(f.story, Injected{call, fault})
	}
	return fault
}

// RoundTrip sends the request and returns the answer, as far as the fault lets it.
func (f *Faults) RoundTrip(r *http.Request) (*http.Response, error) {
	fault := f.choose(r)
	switch fault {
	case Refused:
		return nil, errors.New("injected: connection refused")
	case Conflict:
		err := errors.New("injected")
		return answer(apierrors.NewConflict(schema.GroupResource{}, r.URL.Path, err)), nil
	case Expired:
		return answer(apierrors.NewResourceExpired("injected")), nil
	}
	response, err := f.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	switch fault {
	case AnswerLost:
		_ = response.Body.Close()
		return nil, errors.New("injected: the connection broke before the answer")
	case WatchCut:
		cut := func() error { return io.ErrUnexpectedEOF }
		response.Body = &firstRead{ReadCloser: response.Body, disturb: cut}
	case WatchLate:
		wait := func() error { sleep(r.Context(), 3*time.Second); return nil }
		response.Body = &firstRead{ReadCloser: response.Body, disturb: wait}
	}
	return response, nil
}

// answer is a refusal as the API server would send it.
func answer(err *apierrors.StatusError) *http.Response {
	status := err.Status()
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	text, _ := json.Marshal(status) // it's strings and numbers
	return &http.Response{
		StatusCode: int(status.Code), Body: io.NopCloser(bytes.NewReader(text)),
		Header: http.Header{"Content-Type": {"application/json"}},
	}
}

// firstRead is the body of a watch that is disturbed after the first read.
type firstRead struct {
	io.ReadCloser
	disturb func() error // nil after the first read
	broken  error        // what disturb has returned
}

func (b *firstRead) Read(p []byte) (int, error) {
	if b.broken != nil {
		return 0, b.broken
	}
	n, err := b.ReadCloser.Read(p)
	if b.disturb != nil {
		b.broken, b.disturb = b.disturb(), nil
	}
	return n, err
}

// Day plays a whole day with all requests going through faults, and returns what users
// see when everything is quiet. Days with the same faults must end the same.
type Day func(faults *Faults) (end string)

// BadDay is a day that did not end like one without faults.
type BadDay struct {
	Seed      uint64
	Calm, End string     // how a day without faults ends, and how this one did
	Story     []Injected // the faults that are needed for it
}

// Play plays a calm day, and then one for each seed. It returns the first that doesn't
// end like the calm one, with its story shrunk, or nil if all do.
func Play(seeds uint64, day Day) *BadDay {
	calm := day(&Faults{})
	for seed := range seeds {
		faults := &Faults{Choose: Seed(seed)}
		if end := day(faults); end != calm {
			return shrink(BadDay{seed, calm, end, faults.Story()}, day)
		}
	}
	return nil
}

// shrink leaves out one fault after the other, as long as the day does not end like the
// calm one. In the end, none can be left out.
func shrink(bad BadDay, day Day) *BadDay {
	for i := 0; i < len(bad.Story); i++ {
		faults := &Faults{Choose: Only(slices.Delete(slices.Clone(bad.Story), i, i+1))}
		if end := day(faults); end != bad.Calm {
			bad.End, bad.Story = end, faults.Story()
			i = -1 // from the beginning
		}
	}
	return &bad
}
