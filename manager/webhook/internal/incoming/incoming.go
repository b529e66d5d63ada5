// Package incoming reads the API server's requests to a webhook: a bounded body of JSON, and the
// time that it waits for the answer.
//
// Neighbours: below it is net/http. Above it are the admission, conversion and authentication
// webhooks, which differ in how they answer a bad request.
package incoming

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// roomAhead bounds how much memory is allocated because a header announces a long body.
const roomAhead = 64 << 10

// Unlimited leaves the limit to the server, which has one for all of its paths.
const Unlimited = math.MaxInt64 - 1

// Error says what is wrong with a request, and which HTTP status code the answer needs.
type Error struct {
	Code    int32
	Message string
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// Body reads the body of a request, limit bytes of it at most.
//
// Errors: an *Error comes with as much of the body as was read.
func Body(r *http.Request, limit int64) ([]byte, *Error) {
	if r.Body == nil {
		r.Body = http.NoBody // nil in a test that calls a handler; a server always sets it
	}
	// one byte more, which shows that the body is too long
	body, err := readUpTo(limit+1, r.Body, r.ContentLength)
	if server := (*http.MaxBytesError)(nil); errors.As(err, &server) {
		return body, &Error{http.StatusRequestEntityTooLarge, fmt.Sprintf("request entity is too large; "+
			"limit is %d bytes, the webhook server's MaxRequestBytes", server.Limit)}
	}
	if err != nil {
		return body, &Error{http.StatusBadRequest,
			fmt.Sprintf("reading the request's body: %v", err)}
	}
	if int64(len(body)) > limit {
		return body, &Error{http.StatusRequestEntityTooLarge,
			fmt.Sprintf("request entity is too large; limit is %d bytes", limit)}
	}
	if len(body) == 0 {
		return nil, &Error{http.StatusBadRequest, "request body is empty"}
	}
	return body, nil
}

// readUpTo is io.ReadAll with a limit. It allocates the announced length, up to roomAhead,
// so that a short body needs one allocation.
func readUpTo(limit int64, from io.Reader, said int64) ([]byte, error) {
	// one byte more, for the read that finds the end
	body := make([]byte, 0, max(512, min(said, limit, roomAhead)+1))
	for int64(len(body)) < limit {
		if len(body) == cap(body) {
			body = slices.Grow(body, len(body))
		}
		n, err := from.Read(body[len(body):min(int64(cap(body)), limit)])
		body = body[:len(body)+n]
		if err == io.EOF {
			break
		}
		if err != nil {
			return body, err
		}
	}
	return body, nil
}

// JSON returns an Error unless the body's Content-Type is JSON.
func JSON(r *http.Request) *Error {
	contentType := r.Header.Get("Content-Type")
	if contentType == "application/json" { // the API server's header, without parsing it into a map
		return nil
	}
	mediaType, _, err := mime.ParseMediaType(contentType)
	if err != nil || mediaType != "application/json" {
		return &Error{http.StatusBadRequest,
			fmt.Sprintf("contentType=%s, expected application/json", contentType)}
	}
	return nil
}

// noLongerAwaited is the cause of a context that ended because the API server stopped waiting,
// after this long.
type noLongerAwaited time.Duration

// Error implements error.
func (n noLongerAwaited) Error() string {
	return fmt.Sprintf("the API server no longer waits for the answer after %s", time.Duration(n))
}

// Awaited ends the context when the client stops waiting. The API server puts that time into the
// URL, as in ?timeout=10s. A value that is no duration sets no limit.
func Awaited(ctx context.Context, address *url.URL) (context.Context, context.CancelFunc) {
	if address != nil {
		if limit, err := time.ParseDuration(timeout(address)); err == nil && limit > 0 {
			return context.WithTimeoutCause(ctx, limit, noLongerAwaited(limit))
		}
	}
	return ctx, func() {}
}

// timeout returns that parameter. Most URLs have no other.
func timeout(address *url.URL) string {
	text, is := strings.CutPrefix(address.RawQuery, "timeout=")
	if is && !strings.ContainsAny(text, "&%+;") {
		return text
	}
	return address.Query().Get("timeout")
}
