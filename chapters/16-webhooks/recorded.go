package main

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/loopwright/loopwright/manager/webhook/admission"
	"github.com/loopwright/loopwright/trace"
)

// recorded puts what the rules decide into the timeline. Dry runs are left out: the demo tries them
// until the API server knows the webhooks.
//
// An answer that is given again is left out, too. The API server asks a second time about an update if the object in its
// cache, which it tried first, was out of date.
type recorded struct {
	rules
	recorder *trace.Recorder

	mu   *sync.Mutex // guards told
	told map[trace.Event]bool
}

func newRecorded(recorder *trace.Recorder) recorded {
	return recorded{recorder: recorder, mu: &sync.Mutex{}, told: map[trace.Event]bool{}}
}

func (r recorded) note(ctx context.Context, layer string, s *Stall, said string, err error) {
	request, wrong := admission.RequestFromContext(ctx)
	if wrong != nil || request.DryRun != nil && *request.DryRun {
		return
	}
	e := trace.Event{Kind: trace.Admission, Outcome: trace.Passed, Layer: layer, Object: "Stall",
		Namespace: s.Namespace, Name: s.Name, Op: strings.ToLower(string(request.Operation)), Reason: said}
	if err != nil {
		e.Outcome, e.Reason = trace.Refused, err.Error()
	}
	r.mu.Lock()
	again := r.told[e]
	r.told[e] = true
	r.mu.Unlock()
	if !again {
		r.recorder.Record(e)
	}
}

// Default implements admission.Defaulter.
func (r recorded) Default(ctx context.Context, s *Stall) error {
	before := s.Spec
	err := r.rules.Default(ctx, s)
	said := "as it is"
	if s.Spec != before {
		said = fmt.Sprintf("open from %d to %d", s.Spec.Opens, s.Spec.Closes)
	}
	r.note(ctx, "defaulter", s, said, err)
	return err
}

// ValidateCreate implements admission.Validator.
func (r recorded) ValidateCreate(ctx context.Context, s *Stall) (admission.Warnings, error) {
	warnings, err := r.rules.ValidateCreate(ctx, s)
	r.note(ctx, "validator", s, say(warnings), err)
	return warnings, err
}

// ValidateUpdate implements admission.Validator.
func (r recorded) ValidateUpdate(ctx context.Context, before, s *Stall) (admission.Warnings, error) {
	warnings, err := r.rules.ValidateUpdate(ctx, before, s)
	r.note(ctx, "validator", s, say(warnings), err)
	return warnings, err
}

func say(warnings admission.Warnings) string {
	if len(warnings) == 0 {
		return "nothing to say"
	}
	return "with a warning"
}
