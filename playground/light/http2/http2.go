// Package http2 takes the place of golang.org/x/net/http2, which client-go sets up for a connection with
// TLS. In a page there is none.
package http2

import (
	"errors"
	"net/http"
	"time"
)

// NextProtoTLS is how HTTP/2 is called in a handshake.
const NextProtoTLS = "h2"

// StreamError never happens.
type StreamError struct{}

func (StreamError) Error() string { return "no HTTP/2" }

// Transport is none.
type Transport struct{ ReadIdleTimeout, PingTimeout time.Duration }

// ConfigureTransports refuses, and apimachinery leaves the connection as it is.
func ConfigureTransports(*http.Transport) (*Transport, error) {
	return nil, errors.New("there is no HTTP/2 in a page")
}
