// Package filters lets the API server decide which clients may read metrics.
//
// A request carries a token. A TokenReview says which user it belongs to, and a SubjectAccessReview
// whether this user may make the request. Both answers are cached for a while.
//
// Neighbours: below it are the clients for reviews. Above it is the metrics server, which puts the
// filter around its handlers.
package filters

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/manager/metrics/server"
)

// WithAuthenticationAndAuthorization makes a filter for server.Options.FilterProvider.
//
// The program's own role needs the verb create for tokenreviews in authentication.k8s.io and for
// subjectaccessreviews in authorization.k8s.io. A client needs a role with nonResourceURLs
// ["/metrics"] and verbs [get].
//
// A client gets 401 without a token or with an unknown one, 403 without the permission, and 500 if
// the API server doesn't answer; the reason is in the log. A token and its user are cached for a
// minute, a permission for 5 minutes, and a refusal for 30 seconds.
//
// Somebody who tries many tokens doesn't delay clients that were let in during the last hour. While
// 100 others wait for the API server's answer, any other client gets 429, and has to try again.
func WithAuthenticationAndAuthorization(
	config *rest.Config, httpClient *http.Client,
) (server.Filter, error) {
	asking, err := newReviews(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("make the filter for metrics: %w", err)
	}
	return func(log logr.Logger, handler http.Handler) (http.Handler, error) {
		return &authenticationFilter{reviews: asking, log: log, handler: handler}, nil
	}, nil
}

// authenticationFilter passes a request to the handler, or refuses it.
type authenticationFilter struct {
	reviews *reviews
	log     logr.Logger
	handler http.Handler
}

// ServeHTTP implements http.Handler.
func (f *authenticationFilter) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	token := bearerToken(req)
	if token == "" {
		http.Error(w, "Unauthorized", http.StatusUnauthorized)
		return
	}
	user, err := f.reviews.authenticate(req.Context(), token)
	switch {
	case errors.Is(err, errUnknown):
		f.log.V(4).Info("A token is not valid", "why", err.Error())
		http.Error(w, "Unauthorized", http.StatusUnauthorized)
		return
	case errors.Is(err, errBusy):
		f.refuseForNow(w, err)
		return
	case err != nil:
		f.log.Error(err, "A token could not be reviewed")
		http.Error(w, "Authentication failed", http.StatusInternalServerError)
		return
	}
	decision, err := f.reviews.authorize(req.Context(), user, strings.ToLower(req.Method),
		req.URL.Path)
	switch {
	case errors.Is(err, errBusy):
		f.refuseForNow(w, err)
		return
	case err != nil:
		f.log.Error(err, "A permission could not be reviewed", "user", user.Username)
		http.Error(w, fmt.Sprintf("Authorization for user %s failed", user.Username),
			http.StatusInternalServerError)
		return
	case !decision.allowed:
		f.log.V(4).Info("A request was refused", "user", user.Username, "why", decision.reason)
		http.Error(w, fmt.Sprintf("Authorization denied for user %s", user.Username),
			http.StatusForbidden)
		return
	}
	req = req.Clone(req.Context())
	req.Header.Del("Authorization") // the handler must not see the token
	f.handler.ServeHTTP(w, req)
}

// refuseForNow answers a client that the API server has no time for yet. Anybody can cause it, so
// in the log it's detail.
func (f *authenticationFilter) refuseForNow(w http.ResponseWriter, why error) {
	f.log.V(4).Info("A request was refused for now", "why", why.Error())
	w.Header().Set("Retry-After", "1")
	http.Error(w, "Too many other clients wait for a review; try again in a second",
		http.StatusTooManyRequests)
}

// bearerToken returns the request's token, or nothing.
func bearerToken(req *http.Request) string {
	scheme, token, _ := strings.Cut(strings.TrimSpace(req.Header.Get("Authorization")), " ")
	if !strings.EqualFold(scheme, "bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}
