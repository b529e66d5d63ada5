package server

import (
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// Programs switch metrics off for all their tests in one place.
func TestTheDefaultAddressMayBeNone(t *testing.T) {
	defer func(before string) { DefaultBindAddress = before }(DefaultBindAddress)
	DefaultBindAddress = "0"
	s, err := NewServer(Options{}, nil, nil)
	require.NoError(t, err)
	require.Nil(t, s)
}

// A server that is not there must say so, and end all that it has begun.
func TestAPortThatIsTakenIsAnErrorThatHelps(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	dir := t.TempDir()
	writePair(t, dir, "mine")
	for _, o := range []Options{{}, {SecureServing: true, CertDir: dir}} {
		o.BindAddress = taken.Addr().String()
		s, err := NewServer(o, nil, nil)
		require.NoError(t, err)
		require.ErrorContains(t, s.Start(t.Context()), "BindAddress chooses another address")
	}
}

// Each of these two is a pattern, and /a/b fits both.
func TestHandlersThatContradictEachOtherAreAnErrorOfTheStart(t *testing.T) {
	s, err := NewServer(Options{BindAddress: "127.0.0.1:0", ExtraHandlers: map[string]http.Handler{
		"/a/{any}": says("one"), "/{any}/b": says("other"),
	}}, nil, nil)
	require.NoError(t, err)
	require.ErrorContains(t, s.Start(t.Context()), `add a handler for "/{any}/b" to the metrics server`)
}
