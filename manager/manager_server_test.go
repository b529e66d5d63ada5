package manager

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/metrics/server"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/trace"
)

// slowServer is a Server with one handler that waits. Its answers come when the test lets them.
type slowServer struct {
	*Server
	asked, answer chan struct{} // sent by the handler; closed by the test
	url           string
	ended         chan error // Start's answer
	stop          context.CancelFunc
}

func startSlowServer(t *testing.T, timeout *time.Duration) *slowServer {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &slowServer{asked: make(chan struct{}, 1), answer: make(chan struct{}), ended: make(chan error, 1), url: "http://" + listener.Addr().String()}
	s.Server = &Server{Name: "slow", Listener: listener, ShutdownTimeout: timeout, Server: newHTTPServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked <- struct{}{}
		select {
		case <-s.answer:
		case <-r.Context().Done():
		}
		_, _ = io.WriteString(w, "done")
	}))}
	ctx, stop := context.WithCancel(logr.NewContext(t.Context(), logr.Discard()))
	s.stop = stop
	go func() { s.ended <- s.Start(ctx) }()
	return s
}

// get asks, and sends what came of it.
func (s *slowServer) get(t *testing.T) <-chan error {
	t.Helper()
	came := make(chan error, 1)
	go func() {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url, nil)
		if err == nil {
			var response *http.Response
			if response, err = (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request); err == nil {
				_, err = io.ReadAll(response.Body)
				err = errors.Join(err, response.Body.Close())
			}
		}
		came <- err
	}()
	<-s.asked
	return came
}

func TestAServerFinishesItsRequestsBeforeItEnds(t *testing.T) {
	s := startSlowServer(t, nil)
	came := s.get(t)
	s.stop()
	select {
	case err := <-s.ended:
		require.Fail(t, "the server has ended before its request", "%v", err)
	default:
	}
	close(s.answer)
	require.NoError(t, <-came)
	require.NoError(t, <-s.ended)
}

func TestAServerCutsRequestsOffWhenItsTimeoutIsOver(t *testing.T) {
	s := startSlowServer(t, new(time.Duration(0)))
	came := s.get(t)
	s.stop()
	require.Error(t, <-came)
	require.ErrorContains(t, <-s.ended, "slow server: requests were cut off")
}

func TestAServerSaysWhyItCannotServe(t *testing.T) {
	require.ErrorContains(t, (&Server{}).Start(t.Context()), "needs an http.Server")
	taken := startSlowServer(t, nil)
	err := (&Server{Name: "second", Server: &http.Server{Addr: taken.Listener.Addr().String(), ReadHeaderTimeout: time.Second}}).Start(t.Context())
	require.ErrorContains(t, err, "second server: ")
	taken.stop()
	require.NoError(t, <-taken.ended)

	closed := startSlowServer(t, nil)
	require.NoError(t, closed.Listener.Close())
	require.ErrorContains(t, <-closed.ended, "slow server: ", "a server whose port is gone must not look well")
}

func TestAPortThatIsTakenIsTheErrorOfStart(t *testing.T) {
	taken := startSlowServer(t, nil)
	defer func() { taken.stop(); <-taken.ended }()
	api := fakeapi.New(fakeapi.Options{})
	defer api.Close()
	m, err := New(api.Config(), Options{
		Logger: logr.Discard(), Metrics: server.Options{BindAddress: "0"},
		HealthProbeBindAddress: "127.0.0.1:0", PprofBindAddress: taken.Listener.Addr().String(),
	})
	require.NoError(t, err)
	require.ErrorContains(t, m.Start(t.Context()), "opening the port of the pprof server: ")
}

func TestTheServersOfTheOptionsServe(t *testing.T) {
	api := fakeapi.New(fakeapi.Options{})
	defer api.Close()
	made, err := New(api.Config(), Options{
		Logger: logr.Discard(), Metrics: server.Options{BindAddress: "127.0.0.1:0"}, Recorder: trace.New(100),
		HealthProbeBindAddress: "127.0.0.1:0", PprofBindAddress: "127.0.0.1:0",
	})
	require.NoError(t, err)
	m := made.(*controllerManager)
	require.NoError(t, m.AddMetricsServerExtraHandler("/extra", http.NotFoundHandler()))
	c, err := controller.New(t.Name(), m, controller.Options{Reconciler: reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) { return reconcile.Result{}, nil })})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Start(ctx) }()
	<-m.Elected()
	for _, r := range m.groups.members(httpServers) {
		served, ok := r.(*Server)
		if !ok {
			continue // the metrics server
		}
		path := map[string]string{"health probe": "/readyz", "pprof": "/debug/pprof/cmdline"}[served.Name]
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+served.Listener.Addr().String()+path, nil)
		require.NoError(t, err)
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, http.StatusOK, response.StatusCode, served.Name)
	}
	require.Len(t, m.groups.members(httpServers), 3)
	stop()
	require.NoError(t, <-ended)

	// What the recorder knows of the controllers is shown next to the profiles.
	_, _ = c.Reconcile(t.Context(), reconcile.Request{})
	answer := httptest.NewRecorder()
	m.profiles().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/debug/reconciles", nil))
	require.Equal(t, http.StatusOK, answer.Code)
	require.NotContains(t, answer.Body.String(), "off")
}
