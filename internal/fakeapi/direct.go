package fakeapi

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// Transport returns a way to the server without a connection: the goroutine
// that sends a request also answers it. So there is nothing to close, and
// nothing that outlives a request. Only a watch has a goroutine, until its body
// is closed or its context is done.
func (s *Server) Transport() http.RoundTripper { return direct{s} }

// TransportTo is a Transport to what stands in front of a server, such as a
// proxy.
func TransportTo(front http.Handler) http.RoundTripper { return direct{front} }

type direct struct{ handler http.Handler }

// RoundTrip implements http.RoundTripper.
func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil {
		r = r.WithContext(r.Context()) // a shallow copy: the caller's request must stay as it is
		r.Body = http.NoBody
	}
	defer r.Body.Close()
	if err := context.Cause(r.Context()); err != nil {
		return nil, err
	}
	if Parse(r).Verb == "watch" {
		return d.stream(r)
	}
	w := &recorded{header: http.Header{}, code: http.StatusOK}
	if err := d.serve(w, r); err != nil {
		return nil, err
	}
	body := io.NopCloser(&w.body)
	return response(r, w.code, w.header, body, int64(w.body.Len())), nil
}

// serve calls the handler. It does what an HTTP server does about a handler
// that hangs up.
func (d direct) serve(w http.ResponseWriter, r *http.Request) (err error) {
	defer func() {
		switch p := recover(); p {
		case nil:
		case http.ErrAbortHandler:
			err = fmt.Errorf("the in-memory API server hung up: %w", io.EOF)
		default:
			panic(p)
		}
	}()
	d.handler.ServeHTTP(w, r)
	return nil
}

// Answer is what something other than the server says to a request: a proxy, say, or a login page.
// Leave the request nil if you don't have it yet, and set it before the client gets the answer.
func Answer(r *http.Request, code int, contentType, body string) *http.Response {
	header := http.Header{"Content-Type": {contentType}}
	return response(r, code, header, io.NopCloser(strings.NewReader(body)), int64(len(body)))
}

func response(r *http.Request, code int, header http.Header, body io.ReadCloser, length int64) *http.Response {
	return &http.Response{
		Status: fmt.Sprintf("%d %s", code, http.StatusText(code)), StatusCode: code,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: body, ContentLength: length, Request: r,
	}
}

// recorded is an answer that is complete before the client reads it.
type recorded struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

func (w *recorded) Header() http.Header         { return w.header }
func (w *recorded) WriteHeader(code int)        { w.code = code }
func (w *recorded) Write(p []byte) (int, error) { return w.body.Write(p) }

// stream answers a watch: it returns as soon as the answer begins.
func (d direct) stream(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	reader, writer := io.Pipe()
	// A client that has lost interest closes the connection, even one that has left the body open.
	context.AfterFunc(ctx, func() { reader.CloseWithError(context.Cause(ctx)) })
	w := &streamed{header: http.Header{}, begun: make(chan struct{}), body: writer}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		err := d.serve(w, r.WithContext(ctx))
		w.begin(http.StatusOK, err)
		writer.CloseWithError(err) // nil is the end of the body
	}()
	<-w.begun
	if w.err != nil {
		cancel()
		<-ended
		return nil, w.err
	}
	return response(r, w.code, w.sent, &stream{reader, cancel, ended}, -1), nil
}

// streamed is an answer that is read while it is written.
type streamed struct {
	header http.Header
	body   *io.PipeWriter

	once sync.Once
	// begun is closed by the handler's goroutine when it has set what follows.
	begun chan struct{}
	code  int
	sent  http.Header
	err   error // of a handler that hung up before it began
}

func (w *streamed) begin(code int, err error) {
	w.once.Do(func() {
		w.code, w.sent, w.err = code, w.header.Clone(), err
		close(w.begun)
	})
}

func (w *streamed) Header() http.Header  { return w.header }
func (w *streamed) WriteHeader(code int) { w.begin(code, nil) }
func (w *streamed) Flush()               { w.begin(http.StatusOK, nil) }
func (w *streamed) Write(p []byte) (int, error) {
	w.begin(http.StatusOK, nil)
	return w.body.Write(p)
}

// stream is the body of a watch.
type stream struct {
	*io.PipeReader
	cancel context.CancelFunc
	ended  chan struct{} // closed by the handler's goroutine, at its end
}

// Close ends the watch, and waits for its goroutine.
func (s *stream) Close() error {
	s.cancel()
	err := s.PipeReader.Close()
	<-s.ended
	return err
}
