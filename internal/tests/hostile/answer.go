package hostile

import (
	"bytes"
	"net/http"
	"strconv"
)

// answer is an answer as a whole: one that a fault has ready, or one of the server that is kept.
type answer struct {
	code   int
	header http.Header
	body   []byte
}

func newAnswer() *answer { return &answer{code: http.StatusOK, header: http.Header{}} }

// page is an answer with a body of some type.
func page(code int, contentType, body string) *answer {
	return &answer{code, http.Header{"Content-Type": {contentType}}, []byte(body)}
}

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(code int) { a.code = code }

// Write implements http.ResponseWriter.
func (a *answer) Write(p []byte) (int, error) {
	a.body = append(a.body, p...)
	return len(p), nil
}

// begin sends the header. length is what it says of the body's length; -1 says nothing.
func (a *answer) begin(w http.ResponseWriter, length int) {
	for key, values := range a.header {
		w.Header()[key] = values
	}
	w.Header().Del("Content-Length")
	if length >= 0 {
		w.Header().Set("Content-Length", strconv.Itoa(length))
	}
	w.WriteHeader(a.code)
}

// send sends all of it.
func (a *answer) send(w http.ResponseWriter) {
	a.begin(w, len(a.body))
	_, _ = w.Write(a.body) // an error means that the client has gone
}

// half is the first half of the body, and at least one byte less than the whole.
func (a *answer) half() []byte { return a.body[:len(a.body)/2] }

// allButEnd is the body without its last character.
func (a *answer) allButEnd() []byte {
	body := bytes.TrimSpace(a.body)
	return body[:max(0, len(body)-1)]
}

// flush sends what has been written so far.
func flush(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() }
