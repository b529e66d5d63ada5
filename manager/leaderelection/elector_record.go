package leaderelection

import (
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/loopwright/loopwright/trace"
)

// record reports what has changed: to the flight recorder, the log, and those that want to know the
// leader.
func (r *run) record(before election) {
	after := r.e
	if holder, was := after.holder(), before.holder(); holder != was {
		r.teller.sees(holder)
		if holder != after.identity && !r.resigned {
			r.say("observed", leaderIs(holder))
		}
	}
	switch {
	case before.phase == following && after.phase == claiming:
		r.say("claimed", fmt.Sprintf("it was missing, so whoever held it before gets %s to stop", after.lease))
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
		r.teller.event("stopped leading")
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
	if e.sight != present {
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

// say is for what a person wants to know even without a flight recorder.
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

// recordError logs a failure that is not that of the last such request. That another replica was quicker is no failure.
func (r *run) recordError(a answer) {
	why := a.err.Error()
	switch {
	case apierrors.IsConflict(a.err), apierrors.IsAlreadyExists(a.err), r.failures[a.to.do] == why:
		r.log.V(2).Info("A request to the lock failed", "request", requestNames[a.to.do], "error", why)
	default:
		r.failures[a.to.do] = why
		r.log.Error(a.err, "A request to the lock failed. It is sent again and again, and logged when the reason changes", "request", requestNames[a.to.do])
	}
	if r.config.Recorder.On() {
		r.config.Recorder.Record(r.event(trace.Event{Kind: trace.Error, Outcome: trace.Failed, Reason: requestNames[a.to.do] + " the lock: " + a.err.Error()}))
	}
}

// event fills in who and what.
func (r *run) event(e trace.Event) trace.Event {
	e.Layer, e.Object = r.e.identity, "Lease"
	e.Namespace, e.Name, _ = strings.Cut(r.config.Lock.Describe(), "/")
	if e.Name == "" { // a lock of the user's with another name
		e.Namespace, e.Name = "", e.Namespace
	}
	return e
}
