package webhook

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/fakeapi/bufconn"
	"github.com/loopwright/loopwright/manager/internal/logtest"
)

// serving is a server in a bubble, and one connection to it.
type serving struct {
	net.Conn
	listener *bufconn.Listener
	log      logtest.Collected
	stop     context.CancelFunc
	ended    chan error
}

func serveInBubble(t *testing.T, handler http.HandlerFunc, test func(t *testing.T, s *serving)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &serving{listener: bufconn.NewListener(), ended: make(chan error, 1)}
		ctx, stop := context.WithCancel(logr.NewContext(t.Context(), s.log.Logger(0)))
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

// A webhook that hangs must not hang the process, and whoever asked has to learn that there is no
// answer.
func TestARequestThatDoesNotEndIsCutOffWhenTheServerHasWaitedLongEnough(t *testing.T) {
	var told time.Time
	serveInBubble(t, func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		told = time.Now()
	}, func(t *testing.T, s *serving) {
		s.asks(t)
		began := time.Now()
		s.stop()
		require.ErrorContains(t, <-s.ended,
			"webhook requests were cut off when the server stopped: ")
		require.Equal(t, shutdownLimit, time.Since(began))
		synctest.Wait()
		require.Equal(t, shutdownLimit, told.Sub(began),
			"the handler's context ends with the connection, and not before")
		_, err := s.Read(make([]byte, 1))
		require.Error(t, err)
		require.Contains(t, s.log.String(),
			`webhook "level"=0 "msg"="Stopping the webhook server" "limit"="1m0s"`)
	})
}

func TestAServerWhosePortIsGoneSaysSo(t *testing.T) {
	serveInBubble(t, http.NotFound, func(t *testing.T, s *serving) {
		require.NoError(t, s.listener.Close())
		require.ErrorContains(t, <-s.ended, "serving webhooks: ")
		began := time.Now()
		_, err := s.Read(make([]byte, 1))
		require.Error(t, err)
		require.Zero(t, time.Since(began),
			"an API server that is connected would wait for an answer of nobody")
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
	var own, program logtest.Collected
	before := packageLog
	defer func() { packageLog = before }()
	packageLog = own.Logger(0)
	loggerFrom(t.Context()).Info("without")
	loggerFrom(logr.NewContext(t.Context(), program.Logger(0))).Info("with")
	require.Equal(t, `"level"=0 "msg"="without"`, own.String())
	require.Equal(t, `webhook "level"=0 "msg"="with"`, program.String())
}

// Whoever wonders why a webhook is not called looks here first.
func TestTheLogSaysWhichWebhooksAreServed(t *testing.T) {
	for want, port := range map[string]int{"Registered a webhook": 1,
		"Not serving a webhook, because the server is switched off": -1} {
		var own logtest.Collected
		before := packageLog
		packageLog = own.Logger(0)
		NewServer(Options{Port: port}).Register("/a", http.NotFoundHandler())
		packageLog = before
		require.Equal(t, `"level"=0 "msg"="`+want+`" "path"="/a"`, own.String())
	}
}
