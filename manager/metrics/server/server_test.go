package server

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/pki"

	"github.com/loopwright/loopwright/internal/tests/inorder"
	"github.com/loopwright/loopwright/manager/internal/logtest"
	"github.com/loopwright/loopwright/manager/metrics"
)

// serve starts a server on a free port, and returns its base URL and a function that stops it.
func serve(t *testing.T, o Options) (url string, stop func() error) {
	t.Helper()
	if o.BindAddress == "" {
		o.BindAddress = "127.0.0.1:0"
	}
	s, err := NewServer(o, nil, nil)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Start(ctx) }()
	address := ""
	require.Eventually(t, func() bool {
		address = s.(*server).GetBindAddr()
		return address != ""
	}, time.Minute, time.Millisecond)
	stopped := false
	stop = func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		return <-ended
	}
	t.Cleanup(func() { require.NoError(t, stop()) })
	if o.SecureServing {
		return "https://" + address, stop
	}
	return "http://" + address, stop
}

// client believes any certificate, and keeps no connections.
func client() *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	resp, err := client().Get(url)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(body)
}

func says(text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) })
}

func TestMetricsAndExtraHandlersAreServed(t *testing.T) {
	url, stop := serve(t, Options{ExtraHandlers: map[string]http.Handler{"/debug/": says("hello")}})
	code, body := get(t, url+"/metrics")
	require.Equal(t, 200, code)
	require.Contains(t, body, "go_goroutines ")
	_, body = get(t, url+"/debug/anything")
	require.Equal(t, "hello", body)
	code, _ = get(t, url+"/")
	require.Equal(t, 404, code)
	require.NoError(t, stop())
	_, err := client().Get(url + "/metrics")
	require.Error(t, err, "nobody listens any more")
}

// Whoever scrapes a program finds its metrics after it was ported, too.
func TestByDefaultTheServerIsWhereControllerRuntimeHasIt(t *testing.T) {
	require.Equal(t, ":8080", Options{}.withDefaults().BindAddress)
}

func TestTheUsersAddressIsTaken(t *testing.T) {
	require.Equal(t, ":8080", Options{BindAddress: ":8080"}.withDefaults().BindAddress)
	s, err := NewServer(Options{BindAddress: "0"}, nil, nil)
	require.NoError(t, err)
	require.Nil(t, s)
}

func TestWhichHandlersAreRefused(t *testing.T) {
	for name, c := range inorder.Map(map[string]struct {
		path    string
		handler http.Handler
		want    string
	}{
		"at the metrics' path":   {"/metrics", says(""), "choose another path"},
		"a path that is taken":   {"/mine", says(""), `there is one for "/mine" already`},
		"no handler":             {"/nil", nil, "nil handler"},
		"no path":                {"", says(""), "invalid pattern"},
		"a path that is not one": {"GET mine {", says(""), `add a handler for "GET mine {"`},
	}) {
		t.Run(name, func(t *testing.T) {
			s, err := NewServer(Options{ExtraHandlers: map[string]http.Handler{"/mine": says("")}}, nil, nil)
			require.NoError(t, err)
			require.ErrorContains(t, s.AddExtraHandler(c.path, c.handler), c.want)
			if name != "a path that is taken" {
				_, err = NewServer(Options{ExtraHandlers: map[string]http.Handler{c.path: c.handler}}, nil, nil)
				require.ErrorContains(t, err, c.want)
			}
			ctx, stop := context.WithCancel(t.Context())
			stop()
			s.(*server).options.BindAddress = "127.0.0.1:0"
			require.NoError(t, s.Start(ctx), "what was refused is not served")
		})
	}
}

func TestTheUsersMapOfHandlersIsNotChanged(t *testing.T) {
	handlers := map[string]http.Handler{"/a": says("")}
	s, err := NewServer(Options{ExtraHandlers: handlers}, nil, nil)
	require.NoError(t, err)
	require.NoError(t, s.AddExtraHandler("/b", says("")))
	require.Len(t, handlers, 1)
}

func TestAHandlerThatComesTooLateIsRefused(t *testing.T) {
	s, err := NewServer(Options{BindAddress: "127.0.0.1:0"}, nil, nil)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, s.Start(ctx))
	require.ErrorContains(t, s.AddExtraHandler("/late", says("")), "add it before the manager starts")
	require.ErrorContains(t, s.Start(ctx), "has been started before")
}

func TestTheFilterIsAroundEverything(t *testing.T) {
	deny := func(log logr.Logger, handler http.Handler) (http.Handler, error) {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("key") != "sesame" {
				http.Error(w, "no", http.StatusForbidden)
				return
			}
			handler.ServeHTTP(w, r)
		}), nil
	}
	provide := func(*rest.Config, *http.Client) (Filter, error) { return deny, nil }
	url, _ := serve(t, Options{FilterProvider: provide, ExtraHandlers: map[string]http.Handler{"/debug": says("hello")}})
	for _, path := range []string{"/metrics", "/debug"} {
		code, _ := get(t, url+path)
		require.Equal(t, 403, code)
		code, _ = get(t, url+path+"?key=sesame")
		require.Equal(t, 200, code)
	}
}

func TestAFilterThatFailsLetsNobodyIn(t *testing.T) {
	no := errors.New("no")
	_, err := NewServer(Options{FilterProvider: func(*rest.Config, *http.Client) (Filter, error) { return nil, no }}, nil, nil)
	require.ErrorIs(t, err, no)
	s, err := NewServer(Options{FilterProvider: func(*rest.Config, *http.Client) (Filter, error) {
		return func(logr.Logger, http.Handler) (http.Handler, error) { return nil, no }, nil
	}}, nil, nil)
	require.NoError(t, err)
	require.ErrorIs(t, s.Start(t.Context()), no)
}

func TestWithoutACertificateTheServerSignsOne(t *testing.T) {
	for name, proto := range inorder.Map(map[string]string{"HTTP/2.0": "h2", "HTTP/1.1": "http/1.1"}) {
		t.Run(name, func(t *testing.T) {
			url, _ := serve(t, Options{SecureServing: true, CertDir: t.TempDir()})
			c := client()
			c.Transport.(*http.Transport).ForceAttemptHTTP2 = proto == "h2"
			resp, err := c.Get(url + "/metrics")
			require.NoError(t, err)
			defer resp.Body.Close()
			require.Equal(t, name, resp.Proto)
			require.Equal(t, 200, resp.StatusCode)
		})
	}
}

func hostOf(t *testing.T, url string) []string {
	t.Helper()
	resp, err := client().Get(url + "/metrics")
	require.NoError(t, err)
	defer resp.Body.Close()
	return resp.TLS.PeerCertificates[0].DNSNames
}

func writePair(t *testing.T, dir, host string) {
	t.Helper()
	ca, err := pki.NewCA("metrics")
	require.NoError(t, err)
	pair, err := ca.Server("metrics", host)
	require.NoError(t, err)
	require.NoError(t, pair.Write(dir))
}

func TestTheCertificateComesFromFilesAndFollowsThem(t *testing.T) {
	dir := t.TempDir()
	writePair(t, dir, "old")
	url, _ := serve(t, Options{SecureServing: true, CertDir: dir})
	require.Equal(t, []string{"old"}, hostOf(t, url))
	writePair(t, dir, "new")
	require.Eventually(t, func() bool { return hostOf(t, url)[0] == "new" }, time.Minute, 10*time.Millisecond)
}

func TestACertificateThatCannotBeReadIsAnErrorAndNotReplaced(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tls.crt"), nil, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tls.key"), nil, 0o600))
	s, err := NewServer(Options{SecureServing: true, CertDir: dir, BindAddress: "127.0.0.1:0"}, nil, nil)
	require.NoError(t, err)
	require.ErrorContains(t, s.Start(t.Context()), "load the certificate")
}

func TestTheUsersTLSConfigurationCounts(t *testing.T) {
	dir := t.TempDir()
	writePair(t, dir, "mine")
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
	require.NoError(t, err)
	for name, change := range inorder.Map(map[string]func(*tls.Config){
		"a certificate": func(c *tls.Config) { c.Certificates = []tls.Certificate{pair} },
		"a function": func(c *tls.Config) {
			c.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &pair, nil }
		},
	}) {
		t.Run(name, func(t *testing.T) {
			old := func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }
			url, _ := serve(t, Options{SecureServing: true, CertDir: "/nowhere", TLSOpts: []func(*tls.Config){change, old}})
			resp, err := client().Get(url + "/metrics")
			require.NoError(t, err)
			defer resp.Body.Close()
			require.Equal(t, []string{"mine"}, resp.TLS.PeerCertificates[0].DNSNames)
			require.EqualValues(t, tls.VersionTLS12, resp.TLS.Version)
		})
	}
}

// broken is a metric that cannot be read.
type broken struct{}

var brokenDesc = prometheus.NewDesc("broken", "Broken.", nil, nil)

func (broken) Describe(to chan<- *prometheus.Desc) { to <- brokenDesc }
func (broken) Collect(to chan<- prometheus.Metric) {
	to <- prometheus.NewInvalidMetric(brokenDesc, errors.New("the disk is full"))
}

func TestHowErrorsInMetricsAreServedIsTheUsersChoice(t *testing.T) {
	metrics.Registry.MustRegister(broken{})
	defer func() { require.True(t, metrics.Registry.Unregister(broken{})) }()
	url, _ := serve(t, Options{})
	code, body := get(t, url+"/metrics")
	require.Equal(t, 500, code)
	require.Contains(t, body, "the disk is full")
	url, _ = serve(t, Options{HandlerOpts: []func(*promhttp.HandlerOpts){func(o *promhttp.HandlerOpts) { o.ErrorHandling = promhttp.ContinueOnError }}})
	code, _ = get(t, url+"/metrics")
	require.Equal(t, 200, code)
}

func TestEachReplicaServesItsMetrics(t *testing.T) {
	s, err := NewServer(Options{}, nil, nil)
	require.NoError(t, err)
	require.False(t, s.NeedLeaderElection())
}

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

// A manager puts its logger into the context of what it runs. Without this, a program that sets the
// manager's logger, and not the global one, never learns where its metrics are, and a filter never says
// whom it has turned away.
func TestTheServerAndItsFilterWriteToTheManagersLogger(t *testing.T) {
	filter := func(log logr.Logger, handler http.Handler) (http.Handler, error) {
		log.Info("filtered")
		return handler, nil
	}
	s, err := NewServer(Options{
		BindAddress: "127.0.0.1:0", FilterProvider: func(*rest.Config, *http.Client) (Filter, error) { return filter, nil },
	}, nil, nil)
	require.NoError(t, err)
	var log logtest.Collected
	ctx, stop := context.WithCancel(logr.NewContext(t.Context(), log.Logger(0)))
	stop()
	require.NoError(t, s.Start(ctx))
	require.Equal(t, `metrics "level"=0 "msg"="filtered" "path"="/metrics"`+"\n"+
		`metrics "level"=0 "msg"="Serving metrics" "address"="`+s.(*server).GetBindAddr()+`" "secure"=false`, log.String())
}

// A program that runs a server without a manager has set its logger for all.
func TestAServerWithoutAManagerWritesToTheProgramsLogger(t *testing.T) {
	program := logtest.Read(t)
	s, err := NewServer(Options{BindAddress: "127.0.0.1:0"}, nil, nil)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	require.NoError(t, s.Start(ctx))
	require.Contains(t, program.String(), s.(*server).GetBindAddr())
}
