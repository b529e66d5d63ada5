// Package tls takes the place of Go's crypto/tls below net/http: a tenth of the program, for
// connections that a page never makes. Its API server is at the other end of a pipe in memory.
package tls

import (
	"context"
	"errors"
	"net"
)

var errNone = errors.New("there is no TLS in a page")

// VersionTLS12 is the number of a version.
const VersionTLS12 = 0x0303

// Certificate is none.
type Certificate struct {
	Certificate                 [][]byte
	PrivateKey                  any
	OCSPStaple                  []byte
	SignedCertificateTimestamps [][]byte
}

// CertificateRequestInfo is never made.
type CertificateRequestInfo struct{}

// ClientHelloInfo is never made.
type ClientHelloInfo struct{}

// ConnectionState is never that of a connection.
type ConnectionState struct {
	HandshakeComplete          bool
	NegotiatedProtocol         string
	NegotiatedProtocolIsMutual bool
}

// Config is used by nothing.
type Config struct {
	Certificates         []Certificate
	GetCertificate       func(*ClientHelloInfo) (*Certificate, error)
	GetClientCertificate func(*CertificateRequestInfo) (*Certificate, error)
	GetConfigForClient   func(*ClientHelloInfo) (*Config, error)
	RootCAs              any
	NextProtos           []string
	ServerName           string
	InsecureSkipVerify   bool
	MinVersion           uint16
}

// Clone returns a copy.
func (c *Config) Clone() *Config {
	if c == nil {
		return nil
	}
	clone := *c
	return &clone
}

// Conn is a connection whose handshake fails.
type Conn struct{ net.Conn }

// NetConn returns the connection below.
func (c *Conn) NetConn() net.Conn { return c.Conn }

// HandshakeContext refuses.
func (*Conn) HandshakeContext(context.Context) error { return errNone }

// ConnectionState returns none.
func (*Conn) ConnectionState() ConnectionState { return ConnectionState{} }

// Client returns a connection whose handshake fails.
func Client(conn net.Conn, _ *Config) *Conn { return &Conn{conn} }

// NewListener returns the listener: what it accepts is not encrypted.
func NewListener(inner net.Listener, _ *Config) net.Listener { return inner }

// LoadX509KeyPair refuses.
func LoadX509KeyPair(string, string) (Certificate, error) { return Certificate{}, errNone }

// X509KeyPair refuses.
func X509KeyPair([]byte, []byte) (Certificate, error) { return Certificate{}, errNone }

// RecordHeaderError never happens.
type RecordHeaderError struct {
	RecordHeader [5]byte
	Conn         net.Conn
}

func (RecordHeaderError) Error() string { return errNone.Error() }
