// Package authentication answers the API server when it asks which user a bearer token belongs to.
//
// An HTTP request holds a TokenReview. It becomes a Request, a Handler turns that into a Response,
// and the Response is written as a TokenReview again. The API server sends requests if it was
// started with
// --authentication-token-webhook-config-file.
//
// Neighbours: below it is package log. Above it is the webhook server, which serves a Webhook at a
// path.
package authentication

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/loopwright/loopwright/manager/log"
	"github.com/loopwright/loopwright/manager/webhook/internal/incoming"
)

var packageLog = log.RuntimeLog.WithName("authentication")

// Request is the API server's question. Spec has the token.
type Request struct {
	authenticationv1.TokenReview
}

// Response is the answer. Status has the user, or an error.
type Response struct {
	authenticationv1.TokenReview
}

// Complete sets the UID of the request. The error is always nil.
func (r *Response) Complete(req Request) error {
	r.UID = req.UID
	return nil
}

// Handler answers a Request.
type Handler interface {
	// Handle answers the request. The context ends when the API server no longer waits for the
	// answer.
	Handle(context.Context, Request) Response
}

// HandlerFunc is a function that is a Handler.
type HandlerFunc func(context.Context, Request) Response

// Handle implements Handler.
func (f HandlerFunc) Handle(ctx context.Context, req Request) Response { return f(ctx, req) }

// Webhook serves a Handler. Register it with a webhook server.
//
// Caveats: don't change its fields once it serves. A panic of the handler closes the connection
// without an answer, so the API server rejects the token.
type Webhook struct {
	// Handler answers the requests. It's required.
	Handler Handler

	// WithContextFunc may copy values from the HTTP request, such as a header, to the handler's
	// context.
	WithContextFunc func(context.Context, *http.Request) context.Context
}

// Handle calls the handler and completes its answer.
func (wh *Webhook) Handle(ctx context.Context, req Request) Response {
	response := wh.Handler.Handle(ctx, req)
	_ = response.Complete(req) // never an error
	return response
}

// logger makes the handler's logger, which never has the token in it.
func logger(req *Request) logr.Logger {
	return packageLog.WithValues("object", klog.KRef(req.Namespace, req.Name),
		"user", req.Status.User.Username, "requestID", req.UID)
}

// Authenticated accepts the token, which belongs to this user. The reason, if there's one, becomes
// the status's error.
func Authenticated(reason string, user authenticationv1.UserInfo) Response {
	return ReviewResponse(true, user, reason)
}

// Unauthenticated rejects the token. The user isn't passed on.
func Unauthenticated(reason string, _ authenticationv1.UserInfo) Response {
	return ReviewResponse(false, authenticationv1.UserInfo{}, reason)
}

// Errored rejects the token because the webhook failed.
func Errored(err error) Response {
	return ReviewResponse(false, authenticationv1.UserInfo{}, err.Error())
}

// ReviewResponse says whether a token is valid, its user, and its audiences.
func ReviewResponse(
	authenticated bool, user authenticationv1.UserInfo, err string, audiences ...string,
) Response {
	status := authenticationv1.TokenReviewStatus{
		Authenticated: authenticated, User: user, Audiences: audiences, Error: err,
	}
	return Response{TokenReview: authenticationv1.TokenReview{Status: status}}
}

// maxRequestSize bounds a body, which is little more than a token of a few kilobytes.
const maxRequestSize = 1 << 20

const reviewKind = "TokenReview"

// ServeHTTP implements http.Handler. If the body isn't a TokenReview, or has no token, it answers
// with an error in the status.
func (wh *Webhook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	if wh.WithContextFunc != nil {
		ctx = wh.WithContextFunc(ctx, r)
	}
	ctx, cancel := incoming.Awaited(ctx, r.URL)
	defer cancel()

	req, err := read(r)
	var response Response
	if err != nil {
		logger(&req).Error(err, "Answering a request that is no review")
		response = Errored(err)
		response.UID = req.UID
	} else {
		response = wh.Handle(ctx, req)
	}
	response.TypeMeta = answerVersion(req.TypeMeta)
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(response.TokenReview); err != nil {
		logger(&req).Error(err, "Cannot send the answer; the API server may have stopped waiting")
	}
}

// read returns the question, or as much of it as it could read, and an error.
func read(r *http.Request) (req Request, err error) {
	body, wrong := incoming.Body(r, maxRequestSize)
	if wrong == nil {
		wrong = incoming.JSON(r)
	}
	if wrong != nil {
		return req, wrong
	}
	if err := json.Unmarshal(body, &req.TokenReview); err != nil {
		return req, fmt.Errorf("the body is not a TokenReview: %w", err)
	}
	asked, known := req.TypeMeta, answerVersion(req.TypeMeta)
	switch {
	case asked != known && asked != metav1.TypeMeta{}:
		return req, fmt.Errorf("the body is a %s of version %s, and not a TokenReview of "+
			"version %s or v1beta1",
			asked.Kind, asked.APIVersion, authenticationv1.SchemeGroupVersion)
	case req.Spec.Token == "":
		return req, errors.New("token is empty")
	}
	return req, nil
}

// answerVersion is the version of the answer: that of the question, or v1 if we don't know it.
func answerVersion(question metav1.TypeMeta) metav1.TypeMeta {
	version := authenticationv1.SchemeGroupVersion.String()
	if question.APIVersion == authenticationv1.GroupName+"/v1beta1" {
		version = question.APIVersion
	}
	return metav1.TypeMeta{APIVersion: version, Kind: reviewKind}
}
