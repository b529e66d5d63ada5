// Package incoming reads what the API server sends to a webhook: a bounded body of JSON, and how long it
// waits for the answer.
//
// Neighbours: below it is net/http. Above it are the admission, conversion and authentication webhooks, which
// differ in how they answer what is wrong.
package incoming

import (
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Error says what is wrong with a request, and with which HTTP status code to say it.
type Error struct {
	Code    int32
	Message string
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// Body reads the body of a request, limit bytes of it at most.
//
// Errors: An *Error comes with as much of the body as was read.
func Body(r *http.Request, limit int64) ([]byte, *Error) {
	if r.Body == nil {
		r.Body = http.NoBody // in a test that calls a handler; a server always sets it
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, limit+1)) // one more, which shows that it is too long
	if err != nil {
		return body, &Error{http.StatusBadRequest, fmt.Sprintf("reading the request's body: %v", err)}
	}
	if int64(len(body)) > limit {
		return body, &Error{http.StatusRequestEntityTooLarge, fmt.Sprintf("request entity is too large; limit is %d bytes", limit)}
	}
	if len(body) == 0 {
		return nil, &Error{http.StatusBadRequest, "request body is empty"}
	}
	return body, nil
}

// JSON returns an Error unless the body's type is JSON.
func JSON(r *http.Request) *Error {
	contentType := r.Header.Get("Content-Type")
	if contentType == "application/json" { // what the API server sends, without a map of parameters
		return nil
	}
	if mediaType, _, err := mime.ParseMediaType(contentType); err != nil || mediaType != "application/json" {
		return &Error{http.StatusBadRequest, fmt.Sprintf("contentType=%s, expected application/json", contentType)}
	}
	return nil
}

// noLongerAwaited is the cause of a context that ended because the API server stopped waiting, after this long.
type noLongerAwaited time.Duration

// Error implements error.
func (n noLongerAwaited) Error() string {
	return fmt.Sprintf("the API server no longer waits for the answer after %s", time.Duration(n))
}

// Awaited ends the context when whoever asks stops waiting. The API server says how long it waits in the
// address, as in ?timeout=10s. What is no duration is no limit.
func Awaited(ctx context.Context, address *url.URL) (context.Context, context.CancelFunc) {
	if address != nil {
		if limit, err := time.ParseDuration(timeout(address)); err == nil && limit > 0 {
			return context.WithTimeoutCause(ctx, limit, noLongerAwaited(limit))
		}
	}
	return ctx, func() {}
}

// timeout returns that parameter. Most addresses have no other.
func timeout(address *url.URL) string {
	if text, is := strings.CutPrefix(address.RawQuery, "timeout="); is && !strings.ContainsAny(text, "&%+;") {
		return text
	}
	return address.Query().Get("timeout")
}
