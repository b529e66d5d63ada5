package manager

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/fakeapi/bufconn"
	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/healthz"
	"github.com/loopwright/loopwright/manager/internal/anyvalue"
	"github.com/loopwright/loopwright/manager/metrics/server"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/trace"
	"github.com/loopwright/loopwright/xray"
)

// slowServer is a Server in a bubble, with one handler that waits. Its answers come when the test
// lets them.
type slowServer struct {
	*Server
	listener      *bufconn.Listener
	asked, answer chan struct{} // sent by the handler; closed by the test
	ended         chan error    // Start's answer
	stop          context.CancelFunc
}

func startSlowServer(t *testing.T, timeout *time.Duration) *slowServer {
	t.Helper()
	s := &slowServer{listener: bufconn.NewListener(), asked: make(chan struct{}, 1),
		answer: make(chan struct{}), ended: make(chan error, 1)}
	s.Server = &Server{Name: "slow", Listener: s.listener, ShutdownTimeout: timeout,
		Server: newHTTPServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return s.listener.Dial(ctx) }
	came := make(chan error, 1)
	go func() {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://slow", nil)
		if err == nil {
			var response *http.Response
			if response, err = (&http.Client{Transport: &http.Transport{DisableKeepAlives: true,
				DialContext: dial}}).Do(request); err == nil {
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
	synctest.Test(t, func(t *testing.T) {
		s := startSlowServer(t, nil)
		came := s.get(t)
		s.stop()
		time.Sleep(time.Hour)
		require.Empty(t, s.ended, "the server has ended before its request")
		close(s.answer)
		require.NoError(t, <-came)
		require.NoError(t, <-s.ended)
	})
}

func TestAServerCutsRequestsOffWhenItsTimeoutIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startSlowServer(t, new(time.Minute))
		came := s.get(t)
		s.stop()
		began := time.Now()
		require.ErrorContains(t, <-s.ended, "slow server: requests were cut off")
		require.Equal(t, time.Minute, time.Since(began))
		require.Error(t, <-came)
	})
}

// Somebody else may call Shutdown. That is no reason to leave requests behind, or to keep quiet
// about them.
func TestAServerThatSomebodyElseShutsDownSaysThatItsRequestsWereCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startSlowServer(t, new(time.Minute))
		came := s.get(t)
		go func() { _ = s.Server.Server.Shutdown(t.Context()) }()
		time.Sleep(time.Hour)
		require.Empty(t, s.ended)
		s.stop()
		require.ErrorContains(t, <-s.ended, "slow server: requests were cut off")
		require.Error(t, <-came)
	})
}

// Anybody in the cluster may connect, and each connection costs memory.
func TestAServerClosesConnectionsThatAskForNothing(t *testing.T) {
	for _, c := range []struct {
		says string
		ends time.Duration
	}{
		// the rest of the header does not come
		{"GET / HTTP/1.1\r\n", 32 * time.Second},
		{"GET / HTTP/1.1\r\nHost: x\r\n\r\n", 90 * time.Second}, // the next request does not come
	} {
		synctest.Test(t, func(t *testing.T) {
			s := startSlowServer(t, nil)
			close(s.answer)
			conn, err := s.listener.Dial(t.Context())
			require.NoError(t, err)
			began := time.Now()
			go func() { _, _ = conn.Write([]byte(c.says)) }()
			_, err = io.ReadAll(conn)
			require.NoError(t, err)
			require.Equal(t, c.ends, time.Since(began))
			s.stop()
			require.NoError(t, <-s.ended)
		})
	}
}

// port opens one until the test ends.
func port(t *testing.T) (address string) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	return listener.Addr().String()
}

func TestAServerSaysWhyItCannotServe(t *testing.T) {
	require.ErrorContains(t, (&Server{}).Start(t.Context()), "needs an http.Server")
	err := (&Server{Name: "second",
		Server: &http.Server{Addr: port(t), ReadHeaderTimeout: time.Second}}).Start(t.Context())
	require.ErrorContains(t, err, "second server: ")

	synctest.Test(t, func(t *testing.T) {
		closed := startSlowServer(t, nil)
		require.NoError(t, closed.Listener.Close())
		require.ErrorContains(t, <-closed.ended, "slow server: ",
			"a server whose port is gone must not look well")
	})
}

func TestAServerWithoutAListenerOpensThePortOfItsAddress(t *testing.T) {
	var told story
	ctx, stop := context.WithCancel(logr.NewContext(t.Context(), funcr.New(func(_, line string) {
		told.say("%s", line)
	}, funcr.Options{})))
	stop()
	require.NoError(t, (&Server{Server: &http.Server{Addr: "127.0.0.1:0",
		ReadHeaderTimeout: time.Second}}).Start(ctx))
	require.Contains(t, told.told()[0], `"msg"="Serving" "server"="" "address"="127.0.0.1:`)
}

func TestAPortThatIsTakenIsTheErrorOfStart(t *testing.T) {
	api := fakeapi.New(fakeapi.Options{})
	defer api.Close()
	m, err := New(api.Config(), Options{
		Logger: logr.Discard(), Metrics: server.Options{BindAddress: "0"},
		HealthProbeBindAddress: "127.0.0.1:0", PprofBindAddress: port(t),
	})
	require.NoError(t, err)
	require.ErrorContains(t, m.Start(t.Context()), "opening the port of the pprof server: ")
}

// A program that tries again finds its own port taken otherwise.
func TestAPortThatIsOpenIsClosedWhenAnotherOneIsTaken(t *testing.T) {
	isFree := func() bool {
		other, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		require.NoError(t, err)
		address := other.Addr().String()
		require.NoError(t, other.Close())
		m, err := New(&rest.Config{}, Options{
			Logger: logr.Discard(), Metrics: server.Options{BindAddress: "0"}, HealthProbeBindAddress: address, PprofBindAddress: port(t),
		})
		require.NoError(t, err)
		require.ErrorContains(t, m.Start(t.Context()), "opening the port of the ")
		again, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
		if err != nil {
			return false
		}
		require.NoError(t, again.Close())
		return true
	}
	for range 10 { // somebody else on this machine may take the port in between
		if isFree() {
			return
		}
	}
	require.Fail(t, "the port of the probes is still open")
}

func TestAManagerMayHaveProfilesAndNoProbes(t *testing.T) {
	m, err := New(&rest.Config{}, Options{Logger: logr.Discard(),
		Metrics: server.Options{BindAddress: "0"}, PprofBindAddress: "127.0.0.1:0"})
	require.NoError(t, err)
	made := m.(*controllerManager)
	require.NoError(t, made.addServers(t.Context()))
	servers := made.groups.members(httpServers)
	require.Len(t, servers, 1)
	require.Equal(t, "pprof server", anyvalue.Name(servers[0], ""))
	require.NoError(t, servers[0].(*Server).Listener.Close())
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
	require.NoError(t, m.AddReadyzCheck("ping", healthz.Ping))
	c, err := controller.New(t.Name(), m,
		controller.Options{Reconciler: reconcile.Func(func(
			context.Context, reconcile.Request,
		) (reconcile.Result, error) {
			return reconcile.Result{}, nil
		})})
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
		path := map[string]string{"health probe": "/readyz",
			"pprof": "/debug/pprof/cmdline"}[served.Name]
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
			"http://"+served.Listener.Addr().String()+path, nil)
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
	profiles(xray.New(m.options.Recorder)).ServeHTTP(answer,
		httptest.NewRequest(http.MethodGet, xray.Path+"timeline", nil))
	require.Equal(t, http.StatusOK, answer.Code)
	require.Contains(t, answer.Body.String(), "leader-elected")
}

// getDebug asks the server of the profiles for one, or for X-ray, and returns the connection.
func getDebug(t *testing.T, listener *bufconn.Listener, name string) net.Conn {
	t.Helper()
	conn, err := listener.Dial(t.Context())
	require.NoError(t, err)
	_, err = fmt.Fprintf(conn, "GET /debug/%s HTTP/1.1\r\nHost: localhost\r\n\r\n", name)
	require.NoError(t, err)
	return conn
}

func TestAClientThatStopsReadingAProfileIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listener, server := bufconn.NewListener(), newProfileServer(xray.New(trace.New(10)))
		ended := make(chan error, 1)
		go func() { ended <- server.Serve(listener) }()
		conn := getDebug(t, listener, "pprof/goroutine?debug=2")
		time.Sleep(profileWriteLimit + time.Second)
		_, err := conn.Read(make([]byte, 1))
		require.ErrorIs(t, err, io.EOF, "it holds a goroutine, and the manager's stop waits for it")

		began := time.Now()
		conn = getDebug(t, listener, "pprof/goroutine?seconds=90")
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err, "a profile may take longer than a client that doesn't read")
		_, err = io.Copy(io.Discard, answer.Body)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, answer.StatusCode)
		require.GreaterOrEqual(t, time.Since(began), 90*time.Second)

		began = time.Now()
		conn = getDebug(t, listener, "xray/events")
		for page := bufio.NewReader(conn); time.Since(began) < 3*profileWriteLimit; {
			_, err = page.ReadString('\n')
			require.NoError(t, err, "the page of X-ray stays open as long as it's looked at")
		}
		require.NoError(t, conn.Close())
		require.NoError(t, server.Close())
		require.ErrorIs(t, <-ended, http.ErrServerClosed)
	})
}

// silence is a listener to which nobody connects, so that it works in a bubble.
type silence struct {
	closed chan struct{} // closed by close
	close  func()
}

func newSilence() silence {
	closed := make(chan struct{})
	return silence{closed, sync.OnceFunc(func() { close(closed) })}
}

func (s silence) Accept() (net.Conn, error) { <-s.closed; return nil, net.ErrClosed }
func (s silence) Close() error              { s.close(); return nil }
func (s silence) Addr() net.Addr            { return &net.UnixAddr{Name: "silence"} }

// A runnable that ends early would look like one whose work is done.
func TestAServerThatSomebodyElseShutsDownEndsWithItsManager(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told story
		logger := funcr.New(func(_, line string) { told.say("%s", line) }, funcr.Options{})
		s := &Server{Name: "extra", Server: newHTTPServer(http.NotFoundHandler()),
			Listener: newSilence()}
		ctx, stop := context.WithCancel(logr.NewContext(t.Context(), logger))
		ended := make(chan error, 1)
		go func() { ended <- s.Start(ctx) }()
		synctest.Wait()
		require.Equal(t, []string{`"level"=0 "msg"="Serving" "server"="extra" "address"="silence"`},
			told.told())
		require.NoError(t, s.Server.Shutdown(t.Context()))
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Empty(t, ended)
		stop()
		require.NoError(t, <-ended)
	})
}

func TestAServerSaysWhereItServesAndThatItHasStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told story
		logger := funcr.New(func(_, line string) { told.say("%s", line) }, funcr.Options{})
		s := &Server{Server: newHTTPServer(http.NotFoundHandler()), Listener: newSilence()}
		require.Equal(t, "HTTP server", s.String())
		ctx, stop := context.WithCancel(logr.NewContext(t.Context(), logger))
		stop()
		require.NoError(t, s.Start(ctx))
		require.Equal(t, []string{
			`"level"=0 "msg"="Serving" "server"="" "address"="silence"`, `"level"=0 "msg"="Stopped serving" "server"="" "address"="silence"`,
		}, told.told())
	})
}

// Whoever starts it again, or a replica of it, needs the port.
func TestAServerThatIsToldToStopBeforeItServesHasClosedItsPortWhenItReturns(t *testing.T) {
	for range 100 {
		synctest.Test(t, func(t *testing.T) {
			port := newSilence()
			ctx, stop := context.WithCancel(logr.NewContext(t.Context(), logr.Discard()))
			stop()
			require.NoError(t, (&Server{Server: newHTTPServer(http.NotFoundHandler()),
				Listener: port}).Start(ctx))
			select {
			case <-port.closed:
			default:
				require.Fail(t, "the port is still open")
			}
		})
	}
}

// What only the leader serves would show the state of a replica that does nothing.
func TestAServerOfTheLeaderWaitsForTheLead(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		first := w.start(w.manager(ofElection()))
		lead(t, first)
		m := w.manager(ofElection())
		server := &Server{Name: "leader's", Server: newHTTPServer(http.NotFoundHandler()),
			Listener: newSilence(), OnlyServeWhenLeader: true}
		require.True(t, server.NeedLeaderElection())
		require.NoError(t, m.Add(server))
		second := w.start(m)
		time.Sleep(time.Minute)
		serving := `"msg"="Serving" "server"="leader's"`
		require.NotContains(t, w.log(), serving)
		require.NoError(t, first.end())
		lead(t, second)
		synctest.Wait()
		require.Contains(t, w.log(), serving)
		require.NoError(t, second.end())
	})
}
