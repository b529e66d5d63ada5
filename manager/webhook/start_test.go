package webhook_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/manager/webhook"
)

// waiter is what a manager asks of a server before it starts its caches.
type waiter interface {
	WaitUntilReady(ctx context.Context) error
}

// A conversion webhook that is asked too early fails the first list of a cache.
func TestAServerIsReadyWhenItTakesConnections(t *testing.T) {
	dir := t.TempDir()
	root := certificates(t, dir)
	server := start(t, webhook.Options{CertDir: dir})
	require.NoError(t, server.Server.(waiter).WaitUntilReady(t.Context()))
	require.NoError(t, allowed(caller(root), server.address))

	enough := errors.New("enough")
	ctx, stop := context.WithCancelCause(t.Context())
	stop(enough)
	err := webhook.NewServer(webhook.Options{Port: 1}).(waiter).WaitUntilReady(ctx)
	require.ErrorIs(t, err, enough, "a server that is never started is never ready")
	require.ErrorContains(t, err, "waiting for the webhook server: ")
	require.NoError(t, webhook.NewServer(webhook.Options{Port: -1}).(waiter).WaitUntilReady(ctx),
		"nobody waits for one that is switched off")
}

// A program may wait for a server before anybody has started it.
func TestWhoeverWaitsForAServerHearsOfItsStart(t *testing.T) {
	dir := t.TempDir()
	certificates(t, dir)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := webhook.NewServer(webhook.Options{CertDir: dir, Listener: listener})
	ready := make(chan error, 1)
	go func() { ready <- server.(waiter).WaitUntilReady(t.Context()) }()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Start(ctx) }()
	require.NoError(t, <-ready)
	stop()
	require.NoError(t, <-ended)
}

// A health check of somebody who does not wait any longer must not go on.
func TestACheckEndsWithTheRequestThatAsks(t *testing.T) {
	dir := t.TempDir()
	certificates(t, dir)
	server := start(t, webhook.Options{CertDir: dir})
	ctx, stop := context.WithCancel(t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "/readyz", nil)
	require.NoError(t, err)
	require.NoError(t, server.StartedChecker()(request))
	stop()
	require.ErrorIs(t, server.StartedChecker()(request), context.Canceled)
}

func TestAPortThatIsTakenIsAnError(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	dir := t.TempDir()
	certificates(t, dir)
	err = webhook.NewServer(webhook.Options{CertDir: dir, Host: "127.0.0.1",
		Port: taken.Addr().(*net.TCPAddr).Port}).Start(t.Context())
	require.ErrorContains(t, err, "starting the webhook server: ")
	require.ErrorContains(t, err, taken.Addr().String())
}

func TestAProgramMayBringItsOwnCertificate(t *testing.T) {
	dir := t.TempDir()
	root := certificates(t, dir)
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
	require.NoError(t, err)
	mine := func(config *tls.Config) {
		config.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return &pair, nil
		}
	}
	server := start(t, webhook.Options{CertDir: t.TempDir(), TLSOpts: []func(*tls.Config){mine}})
	require.NoError(t, allowed(caller(root), server.address))
	require.NoError(t, server.stop())
}

// The log of a Pod is what people have when webhooks are not reached.
func TestTheLogSaysWhereTheServerIsAndThatItStops(t *testing.T) {
	dir := t.TempDir()
	certificates(t, dir)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var mu sync.Mutex // guards said
	var said []string
	logger := funcr.New(func(_, line string) {
		mu.Lock()
		defer mu.Unlock()
		said = append(said, line)
	}, funcr.Options{})
	server := webhook.NewServer(webhook.Options{CertDir: dir, Listener: listener})
	ctx, stop := context.WithCancel(logr.NewContext(t.Context(), logger))
	stop()
	require.NoError(t, server.Start(ctx))
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, []string{
		`"level"=0 "msg"="Serving webhooks" "address"="` + listener.Addr().String() + `"`,
		`"level"=0 "msg"="Stopping the webhook server" "limit"="1m0s"`,
	}, said, strings.Join(said, "\n"))
}

func TestAPathThatIsTakenStaysTakenWhateverElseIsRegistered(t *testing.T) {
	server := webhook.NewServer(webhook.Options{})
	server.Register("/a", http.NotFoundHandler())
	server.Register("/b", http.NotFoundHandler())
	require.PanicsWithError(t, "two webhooks want the path /a: give one of them another path",
		func() {
			server.Register("/a", http.NotFoundHandler())
		})
}

// Most programs bring no listener, but a port.
func TestAServerListensOnItsPort(t *testing.T) {
	dir := t.TempDir()
	root := certificates(t, dir)
	for tries := 1; ; tries++ { // somebody else may take the port between the two calls of Listen
		free, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		port := free.Addr().(*net.TCPAddr).Port
		require.NoError(t, free.Close())
		server := webhook.NewServer(webhook.Options{Host: "127.0.0.1", Port: port, CertDir: dir})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- server.Start(ctx)
			stop()
		}()
		if server.(waiter).WaitUntilReady(ctx) != nil {
			require.ErrorContains(t, <-ended, "starting the webhook server: listen tcp 127.0.0.1:")
			require.Less(t, tries, 10)
			continue
		}
		answer, err := caller(root).Get("https://" + free.Addr().String() + "/nothing")
		require.NoError(t, err)
		require.Equal(t, http.StatusNotFound, answer.StatusCode)
		require.NoError(t, answer.Body.Close())
		stop()
		require.NoError(t, <-ended)
		return
	}
}

func TestAServerWhosePortIsGoneWatchesItsCertificateNoMore(t *testing.T) {
	dir := t.TempDir()
	certificates(t, dir)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := webhook.NewServer(webhook.Options{CertDir: dir, Listener: listener})
	ended := make(chan error, 1)
	go func() { ended <- server.Start(t.Context()) }()
	require.NoError(t, server.(waiter).WaitUntilReady(t.Context()))
	require.NoError(t, listener.Close())
	require.ErrorContains(t, <-ended, "serving webhooks: ")
	var running strings.Builder
	require.NoError(t, pprof.Lookup("goroutine").WriteTo(&running, 1))
	require.NotContains(t, running.String(), "certwatcher")
}
