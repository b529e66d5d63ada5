package webhook_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"

	"github.com/loopwright/loopwright/internal/pki"
	"github.com/loopwright/loopwright/manager/webhook"
	"github.com/loopwright/loopwright/manager/webhook/admission"
)

// certificates writes a new pair for 127.0.0.1 into a directory, and returns its certificate.
func certificates(t testing.TB, dir string) *x509.Certificate {
	t.Helper()
	ca, err := pki.NewCA("webhooks")
	require.NoError(t, err)
	pair, err := ca.Server("webhook", "127.0.0.1")
	require.NoError(t, err)
	require.NoError(t, pair.Write(dir))
	return pair.Certificate
}

// running is a server with the webhook /allow.
type running struct {
	webhook.Server
	address string
	stop    func() error
}

func start(t testing.TB, options webhook.Options) running {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	options.Listener = listener
	server := webhook.NewServer(options)
	server.Register("/allow",
		&admission.Webhook{Handler: admission.HandlerFunc(func(
			context.Context, admission.Request,
		) admission.Response {
			return admission.Allowed("")
		})})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Start(ctx) }()
	stop := sync.OnceValue(func() error { cancel(); return <-ended })
	t.Cleanup(func() { _ = stop() })
	for server.StartedChecker()(nil) != nil {
		select {
		case err := <-ended:
			t.Fatal("the server ended:", err)
		case <-time.After(time.Millisecond):
		}
	}
	return running{server, listener.Addr().String(), stop}
}

// caller calls as the API server does. It keeps its connections.
func caller(roots ...*x509.Certificate) *http.Client {
	pool := x509.NewCertPool()
	for _, root := range roots {
		pool.AddCert(root)
	}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool},
		ForceAttemptHTTP2: true}}
}

// allowed asks /allow.
func allowed(client *http.Client, address string) error {
	question, err := json.Marshal(admissionv1.AdmissionReview{Request: &admissionv1.AdmissionRequest{UID: "1"}})
	if err != nil {
		return err
	}
	answer, err := client.Post("https://"+address+"/allow?timeout=10s", "application/json",
		bytes.NewReader(question))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(answer.Body).Decode(&review); err != nil {
		return err
	}
	if review.Response == nil || !review.Response.Allowed || review.Response.UID != "1" {
		return fmt.Errorf("not allowed: %v", review.Response)
	}
	return nil
}

func TestAServerAnswersOverTLS(t *testing.T) {
	dir := t.TempDir()
	root := certificates(t, dir)
	server := start(t, webhook.Options{CertDir: dir})
	require.NoError(t, allowed(caller(root), server.address))
	require.ErrorContains(t, allowed(caller(), server.address),
		"certificate signed by unknown authority")
	require.False(t, server.NeedLeaderElection())
	require.NoError(t, server.stop())
	require.Error(t, allowed(caller(root), server.address),
		"a server that was stopped does not answer")
	require.ErrorContains(t, server.StartedChecker()(nil), "webhook server is not reachable")
}

// A certificate is renewed every few weeks, and nobody may notice.
func TestANewCertificateIsServedWithoutAFailedRequest(t *testing.T) {
	dir := t.TempDir()
	roots := []*x509.Certificate{certificates(t, dir)}
	next := t.TempDir()
	for i := range 3 { // made before, so that the callers know them
		at := filepath.Join(next, fmt.Sprint(i))
		require.NoError(t, os.Mkdir(at, 0o700))
		roots = append(roots, certificates(t, at))
	}
	server := start(t, webhook.Options{CertDir: dir})

	var asked, failed atomic.Int64
	done := make(chan struct{})
	var callers sync.WaitGroup
	stop := sync.OnceFunc(func() { close(done); callers.Wait() })
	defer stop()
	for i := range 8 {
		callers.Go(func() {
			client := caller(roots...)
			for n := 0; ; n++ {
				select {
				case <-done:
					return
				default:
				}
				if err := allowed(client, server.address); err != nil {
					failed.Add(1)
					t.Error("a request failed while the certificate changed:", err)
				}
				asked.Add(1)
				if i%2 == 0 { // half of them connect again each time
					client.CloseIdleConnections()
				}
			}
		})
	}
	kept := caller(roots...) // one connection all along
	require.NoError(t, allowed(kept, server.address))
	for i, renewed := range roots[1:] {
		for _, name := range []string{"tls.crt", "tls.key"} {
			content, err := os.ReadFile(filepath.Join(next, fmt.Sprint(i), name))
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
		}
		// real files have no fake clock
		for giveUp := time.Now().Add(2 * time.Minute); !shown(t, server.address).Equal(renewed); time.Sleep(5 * time.Millisecond) {
			require.True(t, time.Now().Before(giveUp),
				"new certificate %d was written two minutes ago, and new connections don't get it", i+1)
		}
		require.NoError(t, allowed(kept, server.address))
	}
	stop()
	require.Zero(t, failed.Load())
	require.Positive(t, asked.Load())
}

// shown is the certificate that a new connection gets.
func shown(t testing.TB, address string) *x509.Certificate {
	t.Helper()
	connection, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
	require.NoError(t, err)
	defer connection.Close()
	return connection.ConnectionState().PeerCertificates[0]
}

// The API servers of a large cluster: 10,000 requests on 100 connections.
func TestManyRequestsOnManyConnectionsAllHaveTheirAnswer(t *testing.T) {
	dir := t.TempDir()
	root := certificates(t, dir)
	server := start(t, webhook.Options{CertDir: dir})
	requests := 10000
	if testing.Short() {
		requests = 1000
	}
	var callers sync.WaitGroup
	for range 100 {
		callers.Go(func() {
			client := caller(root)
			defer client.CloseIdleConnections()
			for range requests / 100 {
				if err := allowed(client, server.address); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	callers.Wait()
}

// A rollout must not refuse a user's request because the old replica ends.
func TestARequestThatIsBeingServedIsAnsweredBeforeTheServerEnds(t *testing.T) {
	dir := t.TempDir()
	root := certificates(t, dir)
	server := start(t, webhook.Options{CertDir: dir})
	entered, leave := make(chan struct{}), make(chan struct{})
	server.Register("/slow", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(entered)
		<-leave
		if r.Context().Err() != nil {
			t.Error("the request's context ended with the server's, so its work failed")
		}
		fmt.Fprint(w, "done")
	}))
	answered := make(chan string, 1)
	go func() {
		answer, err := caller(root).Get("https://" + server.address + "/slow")
		if err != nil {
			answered <- err.Error()
			return
		}
		defer answer.Body.Close()
		body, _ := io.ReadAll(answer.Body)
		answered <- string(body)
	}()
	<-entered
	ended := make(chan error, 1)
	go func() { ended <- server.stop() }()
	for server.StartedChecker()(nil) == nil { // until it takes no connections any more
		time.Sleep(time.Millisecond)
	}
	close(leave)
	require.Equal(t, "done", <-answered)
	require.NoError(t, <-ended)
}

func TestBadCertificatesAreAnErrorAndTheLogSaysWhatToDo(t *testing.T) {
	write := func(dir, name, content string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	const advice = "The certificate to serve webhooks with cannot be read"
	for _, c := range []struct {
		name    string
		spoil   func(dir string)
		options webhook.Options
		want    string
		logs    string
	}{
		{"none", func(dir string) {
			_ = os.Remove(filepath.Join(dir, "tls.crt"))
		}, webhook.Options{}, "tls.crt", advice},
		{"no key", func(dir string) {
			_ = os.Remove(filepath.Join(dir, "tls.key"))
		}, webhook.Options{}, "tls.key", advice},
		{"an empty one", func(dir string) {
			write(dir, "tls.crt", "")
		}, webhook.Options{}, "tls.crt", advice},
		{"half a one", func(dir string) {
			write(dir, "tls.crt", "-----BEGIN CERTIFICATE-----\nMII")
		}, webhook.Options{}, "tls.crt", advice},
		{"another key", func(dir string) {
			other := t.TempDir()
			certificates(t, other)
			key, _ := os.ReadFile(filepath.Join(other, "tls.key"))
			write(dir, "tls.key", string(key))
		}, webhook.Options{}, "tls.key", advice},
		{"another name", func(string) {}, webhook.Options{CertName: "server.pem"}, "server.pem",
			advice},
		{"no CA of the clients", func(string) {}, webhook.Options{ClientCAName: "ca.crt"},
			"reading the CA of clients' certificates", ""},
		{"a CA of the clients that is none", func(string) {},
			webhook.Options{ClientCAName: "tls.key"}, "has no certificates in PEM form", ""},
	} {
		dir := t.TempDir()
		certificates(t, dir)
		c.spoil(dir)
		c.options.CertDir, c.options.Host, c.options.Port = dir, "127.0.0.1", 1
		var logged string
		ctx := logr.NewContext(t.Context(), funcr.New(func(_, line string) {
			logged += line
		}, funcr.Options{}))
		require.ErrorContains(t, webhook.NewServer(c.options).Start(ctx), c.want, c.name)
		require.Contains(t, logged, c.logs, c.name)
	}
}

// Programs that wait for cert-manager tell by os.IsNotExist that the certificate is not there yet.
func TestACertificateThatIsMissingIsAFileThatDoesNotExist(t *testing.T) {
	for _, missing := range []string{"tls.crt", "tls.key"} {
		dir := t.TempDir()
		certificates(t, dir)
		require.NoError(t, os.Remove(filepath.Join(dir, missing)))
		err := webhook.NewServer(webhook.Options{CertDir: dir, Port: 1}).Start(t.Context())
		require.True(t, os.IsNotExist(err), "%s: %v", missing, err)
	}
}

func TestClientsWithoutACertificateAreTurnedAway(t *testing.T) {
	dir := t.TempDir()
	root := certificates(t, dir)
	ca, err := pki.NewCA("clients")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "clients.crt"), ca.CertPEM, 0o600))
	server := start(t, webhook.Options{CertDir: dir, ClientCAName: "clients.crt"})
	require.Error(t, allowed(caller(root), server.address))

	issued, err := ca.Client(pkix.Name{CommonName: "the API server"})
	require.NoError(t, err)
	pair, err := tls.X509KeyPair(issued.CertPEM, issued.KeyPEM)
	require.NoError(t, err)
	client := caller(root)
	client.Transport.(*http.Transport).TLSClientConfig.Certificates = []tls.Certificate{pair}
	require.NoError(t, allowed(client, server.address))
}

func TestAServerIsSwitchedOffByItsPort(t *testing.T) {
	server := webhook.NewServer(webhook.Options{Port: -1})
	server.Register("/allow", http.NotFoundHandler())
	require.NoError(t, server.StartedChecker()(nil))
	var said []string
	logger := funcr.New(func(prefix, text string) {
		said = append(said, prefix+" "+text)
	}, funcr.Options{})
	require.NoError(t, server.Start(logr.NewContext(t.Context(), logger)))
	require.Equal(t, []string{`webhook "level"=0 "msg"="The webhook server is switched off"`}, said,
		"the manager's logger was not used")
}

func TestAPathBelongsToOneWebhook(t *testing.T) {
	defer func(before int) { webhook.DefaultPort = before }(webhook.DefaultPort)
	webhook.DefaultPort = usualPort
	server := &webhook.DefaultServer{}
	require.ErrorContains(t, server.StartedChecker()(nil),
		"webhook server has not been started yet")
	server.Register("/a", http.NotFoundHandler())
	require.PanicsWithError(t, "two webhooks want the path /a: give one of them another path",
		func() {
			server.Register("/a", http.NotFoundHandler())
		})
	_, pattern := server.WebhookMux().Handler(&http.Request{Method: http.MethodPost,
		URL: parsed(t, "/a")})
	require.Equal(t, "/a", pattern)
	require.Equal(t, 9443, server.Options.Port)
	require.Equal(t, filepath.Join(os.TempDir(), "k8s-webhook-server", "serving-certs"),
		server.Options.CertDir)
}

// A program may have handlers of its own on the server's port.
func TestAProgramMayBringItsOwnHandlers(t *testing.T) {
	mux := http.NewServeMux()
	mux.Handle("/mine", http.NotFoundHandler())
	server := webhook.NewServer(webhook.Options{WebhookMux: mux})
	server.Register("/a", http.NotFoundHandler())
	for _, path := range []string{"/mine", "/a"} {
		_, pattern := server.WebhookMux().Handler(&http.Request{Method: http.MethodPost,
			URL: parsed(t, path)})
		require.Equal(t, path, pattern)
	}
}

// Whoever connects to a port that nobody serves waits, and is not refused.
func TestAListenerIsClosedIfTheServerCannotStart(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.Error(t, webhook.NewServer(webhook.Options{Listener: listener,
		CertDir: t.TempDir()}).Start(t.Context()))
	_, err = net.Dial("tcp", listener.Addr().String())
	require.Error(t, err)
}

func TestAServerRunsOnce(t *testing.T) {
	dir := t.TempDir()
	certificates(t, dir)
	server := start(t, webhook.Options{CertDir: dir})
	require.ErrorContains(t, server.Start(t.Context()), "the webhook server was started before")
}

// Some clients, and some proxies in front of the API server, speak HTTP/1.1 only.
func TestAClientMayPreferHTTP1(t *testing.T) {
	dir := t.TempDir()
	root := certificates(t, dir)
	server := start(t, webhook.Options{CertDir: dir})
	client := caller(root)
	client.Transport.(*http.Transport).ForceAttemptHTTP2 = false
	client.Transport.(*http.Transport).TLSClientConfig.NextProtos = []string{"http/1.1"}
	require.NoError(t, allowed(client, server.address))
}

func parsed(t testing.TB, address string) *url.URL {
	t.Helper()
	u, err := url.Parse(address)
	require.NoError(t, err)
	return u
}

// zeros are a body without an end.
type zeros struct{}

func (zeros) Read(to []byte) (int, error) { clear(to); return len(to), nil }

func TestNobodySendsMoreThanTheServerTakes(t *testing.T) {
	for name, c := range map[string]struct{ option, limit, over int64 }{
		"by default": {0, 128 << 20, http.StatusRequestEntityTooLarge},
		"its option": {1000, 1000, http.StatusRequestEntityTooLarge},
		"no limit":   {-1, 256 << 20, http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			certificate := certificates(t, dir)
			server := start(t, webhook.Options{CertDir: dir, MaxRequestBytes: c.option})
			read := make(chan int64, 1)
			server.Register("/count", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				n, err := io.Copy(io.Discard, r.Body)
				read <- n
				if err != nil {
					http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
				}
			}))
			for size, code := range map[int64]int64{c.limit: http.StatusOK, c.limit + 1: c.over} {
				answer, err := caller(certificate).Post("https://"+server.address+"/count", "", io.LimitReader(zeros{}, size))
				require.NoError(t, err)
				require.NoError(t, answer.Body.Close())
				require.EqualValues(t, code, answer.StatusCode, "%d bytes", size)
				want := size
				if code != http.StatusOK {
					want = c.limit
				}
				require.Equal(t, want, <-read, "%d bytes", size)
			}
		})
	}
}
