// Package authentication answers the API server when it asks who a bearer token belongs to.
//
// An HTTP request holds a TokenReview. It becomes a Request, a Handler turns that into a Response, and the
// Response is written as a TokenReview again. The API server asks if it was started with
// --authentication-token-webhook-config-file.
//
// Neighbours: below it is package log. Above it is the webhook server, which serves a Webhook at a path.
package authentication

import (
	"context"
	"net/http"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/klog/v2"

	"github.com/loopwright/loopwright/manager/log"
)

var packageLog = log.RuntimeLog.WithName("authentication")

// Request is what the API server asks. Spec has the token.
type Request struct {
	authenticationv1.TokenReview
}

// Response is the answer. Status has the user, or an error.
type Response struct {
	authenticationv1.TokenReview
}

// Complete sets the UID of the question. The error is always nil.
func (r *Response) Complete(req Request) error {
	r.UID = req.UID
	return nil
}

// Handler decides about a Request.
type Handler interface {
	// Handle answers the request. The context ends when the API server no longer waits for the answer.
	Handle(context.Context, Request) Response
}

// HandlerFunc is a function that is a Handler.
type HandlerFunc func(context.Context, Request) Response

// Handle implements Handler.
func (f HandlerFunc) Handle(ctx context.Context, req Request) Response { return f(ctx, req) }

// Webhook serves a Handler. Register it with a webhook server.
//
// Caveats: Its fields must not change once it serves. A panic of the handler ends the connection without an
// answer, which is the safe answer to whether somebody may come in.
type Webhook struct {
	// Handler decides. It is needed.
	Handler Handler

	// WithContextFunc may put something from the HTTP request, such as a header, into the handler's context.
	WithContextFunc func(context.Context, *http.Request) context.Context
}

// Handle asks the handler and completes its answer.
func (wh *Webhook) Handle(ctx context.Context, req Request) Response {
	response := wh.Handler.Handle(ctx, req)
	_ = response.Complete(req) // never an error
	return response
}

// logger never has the token.
func logger(req *Request) logr.Logger {
	return packageLog.WithValues("object", klog.KRef(req.Namespace, req.Name), "user", req.Status.User.Username, "requestID", req.UID)
}
