package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/pipe"
	"github.com/loopwright/loopwright/manager/webhook"
)

// waiter is what a manager asks of a server before it starts its caches.
type waiter interface {
	WaitUntilReady(ctx context.Context) error
}

// A conversion webhook that is asked too early fails the first list of a cache.
func TestAServerIsReadyWhenItTakesConnections(t *testing.T) {
	dir := t.TempDir()
	root := certificates(t, dir, 1)
	server := start(t, webhook.Options{CertDir: dir})
	require.NoError(t, server.Server.(waiter).WaitUntilReady(t.Context()))
	require.NoError(t, allowed(caller(root), server.address))

	enough := errors.New("enough")
	ctx, stop := context.WithCancelCause(t.Context())
	stop(enough)
	err := webhook.NewServer(webhook.Options{Port: 1}).(waiter).WaitUntilReady(ctx)
	require.ErrorIs(t, err, enough, "a server that is never started is never ready")
	require.ErrorContains(t, err, "waiting for the webhook server: ")
	require.NoError(t, webhook.NewServer(webhook.Options{Port: -1}).(waiter).WaitUntilReady(ctx), "nobody waits for one that is switched off")
}

// A program may wait for a server before anybody has started it.
func TestWhoeverWaitsForAServerHearsOfItsStart(t *testing.T) {
	dir := t.TempDir()
	certificates(t, dir, 1)
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
	certificates(t, dir, 1)
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
	certificates(t, dir, 1)
	err = webhook.NewServer(webhook.Options{CertDir: dir, Host: "127.0.0.1", Port: taken.Addr().(*net.TCPAddr).Port}).Start(t.Context())
	require.ErrorContains(t, err, "starting the webhook server: ")
	require.ErrorContains(t, err, taken.Addr().String())
}

func TestAProgramMayBringItsOwnCertificate(t *testing.T) {
	dir := t.TempDir()
	root := certificates(t, dir, 1)
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
	require.NoError(t, err)
	mine := func(config *tls.Config) {
		config.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &pair, nil }
	}
	server := start(t, webhook.Options{CertDir: t.TempDir(), TLSOpts: []func(*tls.Config){mine}})
	require.NoError(t, allowed(caller(root), server.address))
	require.NoError(t, server.stop())
}

// The log of a Pod is what people have when webhooks are not reached.
func TestTheLogSaysWhereTheServerIsAndThatItStops(t *testing.T) {
	dir := t.TempDir()
	certificates(t, dir, 1)
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
	require.PanicsWithError(t, "two webhooks want the path /a: give one of them another path", func() { server.Register("/a", http.NotFoundHandler()) })
}

// Most programs bring no listener, but a port.
func TestAServerListensOnItsPort(t *testing.T) {
	dir := t.TempDir()
	root := certificates(t, dir, 1)
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
	certificates(t, dir, 1)
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

// lines collects what is logged.
type lines struct {
	mu   sync.Mutex // guards said
	said []string
}

func (l *lines) logger() logr.Logger {
	return funcr.New(func(prefix, line string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.said = append(l.said, prefix+" "+line)
	}, funcr.Options{})
}

func (l *lines) all() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.said, "\n")
}

// serving is a server in a bubble, and one connection to it.
type serving struct {
	net.Conn
	listener *pipe.Listener
	log      lines
	stop     context.CancelFunc
	ended    chan error
}

func serveInBubble(t *testing.T, handler http.HandlerFunc, test func(t *testing.T, s *serving)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &serving{listener: pipe.NewListener(), ended: make(chan error, 1)}
		ctx, stop := context.WithCancel(logr.NewContext(t.Context(), s.log.logger()))
		s.stop = stop
		defer stop()
		go func() { s.ended <- serve(ctx, s.listener, handler) }()
		var err error
		s.Conn, err = s.listener.Dial(ctx)
		require.NoError(t, err)
		test(t, s)
	})
}

// asks begins a request whose body comes later, or never.
func (s *serving) asks(t *testing.T) {
	t.Helper()
	_, err := s.Write([]byte("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n"))
	require.NoError(t, err)
	synctest.Wait()
}

// A webhook that hangs must not hang the process, and whoever asked has to learn that there is no answer.
func TestARequestThatDoesNotEndIsCutOffWhenTheServerHasWaitedLongEnough(t *testing.T) {
	var told time.Time
	serveInBubble(t, func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		told = time.Now()
	}, func(t *testing.T, s *serving) {
		s.asks(t)
		began := time.Now()
		s.stop()
		require.ErrorContains(t, <-s.ended, "webhook requests were cut off when the server stopped: ")
		require.Equal(t, shutdownLimit, time.Since(began))
		synctest.Wait()
		require.Equal(t, shutdownLimit, told.Sub(began), "the handler's context ends with the connection, and not before")
		_, err := s.Read(make([]byte, 1))
		require.Error(t, err)
		require.Contains(t, s.log.all(), `webhook "level"=0 "msg"="Stopping the webhook server" "limit"="1m0s"`)
	})
}

func TestAServerWhosePortIsGoneSaysSo(t *testing.T) {
	serveInBubble(t, http.NotFound, func(t *testing.T, s *serving) {
		require.NoError(t, s.listener.Close())
		require.ErrorContains(t, <-s.ended, "serving webhooks: ")
		began := time.Now()
		_, err := s.Read(make([]byte, 1))
		require.Error(t, err)
		require.Zero(t, time.Since(began), "an API server that is connected would wait for an answer of nobody")
	})
}

// Anybody who reaches the port could otherwise take all of the process's connections.
func TestConnectionsThatDoNothingAreClosed(t *testing.T) {
	serveInBubble(t, http.NotFound, func(t *testing.T, s *serving) {
		began := time.Now()
		_, err := io.ReadAll(s)
		require.NoError(t, err)
		require.Less(t, time.Since(began), 5*time.Minute)
		s.stop()
		require.NoError(t, <-s.ended)
	})
}

// A program without a manager has no logger in its context.
func TestTheServersLoggerIsThatOfTheContextOrThePackages(t *testing.T) {
	var own, program lines
	before := packageLog
	defer func() { packageLog = before }()
	packageLog = own.logger()
	loggerFrom(t.Context()).Info("without")
	loggerFrom(logr.NewContext(t.Context(), program.logger())).Info("with")
	require.Equal(t, ` "level"=0 "msg"="without"`, own.all())
	require.Equal(t, `webhook "level"=0 "msg"="with"`, program.all())
}

// Whoever wonders why a webhook is not called looks here first.
func TestTheLogSaysWhichWebhooksAreServed(t *testing.T) {
	for want, port := range map[string]int{"Registered a webhook": 1, "Not serving a webhook, because the server is switched off": -1} {
		var own lines
		before := packageLog
		packageLog = own.logger()
		NewServer(Options{Port: port}).Register("/a", http.NotFoundHandler())
		packageLog = before
		require.Equal(t, ` "level"=0 "msg"="`+want+`" "path"="/a"`, own.all())
	}
}
