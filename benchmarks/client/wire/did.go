package wire

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
)

// Did is what a call did, as text.
type Did struct {
	Requests []Request
	Outcome  string   // the type of the error, or "ok"
	Message  string   // an error's text, if it is the client's own: two clients may word it differently
	Objects  []string // what the call left in the objects that it was given
}

// Record runs a call, and returns an error if it could not be prepared.
func Record(call Call, take *Take, recorder *Recorder) (did Did, err error) {
	defer func() {
		switch caught := recover().(type) {
		case nil:
		case failure:
			err = caught.error
		default:
			panic(caught)
		}
	}()
	recorder.Taken()
	outcome := call.Do(take)
	for _, request := range recorder.Taken() {
		request.Line, request.Body = take.blur(request.Line), take.blur(request.Body)
		did.Requests = append(did.Requests, request)
	}
	did.Outcome, did.Message = describe(outcome)
	did.Outcome, did.Message = take.blur(did.Outcome), take.blur(did.Message)
	for _, object := range take.shown {
		did.Objects = append(did.Objects, take.blur(fmt.Sprintf("%T ", object)+text(object)))
	}
	return did, nil
}

// describe says what kind of error it is, as far as programs can tell, and what the client itself
// says about it. The text of a server's error belongs to its kind.
func describe(err error) (kind, message string) {
	if err == nil {
		return "ok", ""
	}
	var status apierrors.APIStatus
	switch {
	case errors.As(err, &status):
		s := status.Status()
		return fmt.Sprintf("%d %s: %s", s.Code, s.Reason, s.Message), ""
	case meta.IsNoMatchError(err):
		return "no match for the kind", err.Error()
	case runtime.IsNotRegisteredError(err):
		return "a type that is not registered", err.Error()
	case runtime.IsMissingKind(err):
		return "an object without a kind", err.Error()
	case runtime.IsMissingVersion(err):
		return "an object without a version", err.Error()
	case errors.Is(err, context.Canceled):
		return "cancelled", err.Error()
	case errors.Is(err, context.DeadlineExceeded):
		return "too late", err.Error()
	}
	return "an error of the client", err.Error()
}

// Text is what two clients must have in common.
func (d Did) Text() string {
	var b strings.Builder
	for _, request := range d.Requests {
		fmt.Fprintf(&b, "%s -> %d\n", request.Line, request.Status)
		for _, header := range request.Headers {
			fmt.Fprintf(&b, "    %s\n", header)
		}
		if request.Body != "" {
			fmt.Fprintf(&b, "    %s\n", request.Body)
		}
	}
	fmt.Fprintln(&b, d.Outcome)
	for _, object := range d.Objects {
		fmt.Fprintln(&b, object)
	}
	return b.String()
}
