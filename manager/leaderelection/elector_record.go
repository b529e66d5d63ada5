package leaderelection

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/trace"
)

// record reports a change of state: to the flight recorder, the log, and the user's OnNewLeader.
func (r *run) record(before election) {
	after := r.e
	if holder, was := after.holder(), before.holder(); holder != was {
		r.notifier.sees(holder)
		if holder != after.identity && !r.resigned {
			r.say("observed", leaderIs(holder))
		}
	}
	switch {
	case before.phase == following && after.phase == claiming:
		r.say("claimed", fmt.Sprintf("it was missing, so whoever held it before gets %s to stop",
			after.grace))
	case before.phase == claiming && after.phase == following:
		r.say("lost", "the claim was not kept")
	case before.phase == claiming && after.phase == leading:
		r.say("acquired", "whoever held it before has stopped by now")
	case before.phase != leading && after.phase == leading:
		r.say("acquired", after.why)
	case before.phase == leading && after.phase == ended && !r.resigned:
		r.say("lost", after.why)
	case before.phase == releasing && after.phase == ended:
		r.sayReleased(after.why)
	case before.renewed != after.renewed && after.phase == leading:
		r.trace("renewed", "")
	}
	if before.phase == leading && after.phase != leading {
		r.notifier.event("stopped leading")
	}
}

func (r *run) sayReleased(why string) {
	if why == "released" {
		r.say("released", "the work has ended")
		return
	}
	r.say("kept", "it was not released: "+why)
}

func (e election) holder() string {
	if e.observed != present {
		return ""
	}
	return e.record.HolderIdentity
}

func leaderIs(holder string) string {
	if holder == "" {
		return "nobody leads"
	}
	return holder + " leads"
}

// say logs what a person wants to know even without a flight recorder.
func (r *run) say(op, reason string) {
	r.log.Info("The lock was "+op, "reason", reason)
	r.trace(op, reason)
}

func (r *run) trace(op, reason string) {
	if r.config.Recorder.On() {
		r.config.Recorder.Record(r.event(trace.Event{Kind: trace.Lease, Op: op, Reason: reason}))
	}
}

var requestNames = map[do]string{read: "reading", create: "creating", update: "writing"}

// recordError logs a failure, unless the last request of its kind failed the same way. Losing a
// race to another replica isn't a failure.
func (r *run) recordError(a answer) {
	why := a.err.Error()
	switch {
	case apierrors.IsConflict(a.err), apierrors.IsAlreadyExists(a.err), r.failures[a.to.do] == why:
		r.log.V(2).Info("A request to the lock failed",
			"request", requestNames[a.to.do], "error", why)
	default:
		r.failures[a.to.do] = why
		r.log.Error(a.err,
			"A request to the lock failed. It is retried, and logged again when the reason changes",
			"request", requestNames[a.to.do])
	}
	if r.config.Recorder.On() {
		r.config.Recorder.Record(r.event(trace.Event{
			Kind: trace.Error, Outcome: trace.Failed,
			Reason: requestNames[a.to.do] + " the lock: " + a.err.Error(),
		}))
	}
}

// event fills in the names of the lock and of this replica.
func (r *run) event(e trace.Event) trace.Event {
	e.Layer, e.Object = r.e.identity, "Lease"
	e.Namespace, e.Name, _ = strings.Cut(r.config.Lock.Describe(), "/")
	if e.Name == "" { // the user's own lock, whose name has another form
		e.Namespace, e.Name = "", e.Namespace
	}
	return e
}

// Fence is the token of one leader's term: the leader's name, and how often the lock was taken
// before. A leader sends it with everything it writes. A store that keeps the newest token it has
// seen, and refuses older ones, is safe from a leader that has been replaced and doesn't know it.
//
// A leader that runs stops in time. But one that is suspended, for example with its machine, may go
// on with a write when it wakes, and no code of its own can prevent that. Only the store can
// notice.
//
// Caveats: the count is kept in the Lease. If the Lease is deleted while no replica runs that has
// seen it, the count starts over, and after a restore from a backup it goes back. Stores refuse the
// new leader then, until an operator removes their token. This is safe, but needs manual work.
type Fence struct {
	Identity    string
	Transitions int
}

// FenceAnnotation is the annotation where Stamp keeps the token.
const FenceAnnotation = "loopwright.dev/fence"

// FencedError refuses a write, because a newer leader has written before.
type FencedError struct{ Old, Newest Fence }

func (e *FencedError) Error() string {
	return fmt.Sprintf("the leader %s of term %d was replaced: %s of term %d has written",
		e.Old.Identity, e.Old.Transitions, e.Newest.Identity, e.Newest.Transitions)
}

// Check returns a FencedError if the token is older than the newest one that a store has seen.
// Every token passes if the store has seen none, which is the zero value. Two leaders can have the
// same count if the Lease was deleted, edited or restored from a backup; then the first one wins.
func (f Fence) Check(newest Fence) error {
	if newest == (Fence{}) || f == newest || f.Transitions > newest.Transitions {
		return nil
	}
	return &FencedError{Old: f, Newest: newest}
}

// Stamp checks the token against the one in an object's annotation, and writes it there. This makes
// any Kubernetes object a store that refuses old tokens, on one condition: the write that follows
// must name the resourceVersion of the object, as an Update of an object that was read does.
// Otherwise a newer leader may have written in between.
func (f Fence) Stamp(object metav1.Object) error {
	newest := Fence{}
	if text, found := object.GetAnnotations()[FenceAnnotation]; found {
		var err error
		if newest, err = ParseFence(text); err != nil {
			return fmt.Errorf("the annotation %s of %s/%s: %w; "+
				"correct it, or remove it if no old leader can be left",
				FenceAnnotation, object.GetNamespace(), object.GetName(), err)
		}
	}
	if err := f.Check(newest); err != nil {
		return fmt.Errorf("writing %s/%s: %w", object.GetNamespace(), object.GetName(), err)
	}
	annotations := map[string]string{FenceAnnotation: f.String()}
	for key, value := range object.GetAnnotations() {
		if key != FenceAnnotation {
			annotations[key] = value
		}
	}
	object.SetAnnotations(annotations)
	return nil
}

// String is the token as text: "3/web-1".
func (f Fence) String() string { return strconv.Itoa(f.Transitions) + "/" + f.Identity }

// ParseFence parses the text of String.
func ParseFence(text string) (Fence, error) {
	count, identity, found := strings.Cut(text, "/")
	transitions, err := strconv.Atoi(count)
	if !found || err != nil || identity == "" {
		return Fence{}, fmt.Errorf("%q isn't a fencing token: it has the form 3/web-1, with the "+
			"count of the lock's transitions and the leader's identity", text)
	}
	return Fence{Identity: identity, Transitions: transitions}, nil
}

type fenceKey struct{}

// FenceFrom returns the token of the term to which a context belongs: the context of
// OnStartedLeading, or one derived from it.
func FenceFrom(ctx context.Context) (Fence, bool) {
	fence, found := ctx.Value(fenceKey{}).(Fence)
	return fence, found
}

// WithFence returns a context with a token. An elector makes such contexts; a test may, too.
func WithFence(ctx context.Context, fence Fence) context.Context {
	return context.WithValue(ctx, fenceKey{}, fence)
}
