package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	theirwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/loopwright/loopwright/internal/pki"
	ourwebhook "github.com/loopwright/loopwright/manager/webhook"
)

// users is how many requests are under way at a time.
const users = 16

// server is what both webhook servers are.
type server interface {
	Register(path string, hook http.Handler)
	Start(context.Context) error
}

// servers makes one of each side, which listens on this port.
var servers = map[string]func(port int, certDir string) server{
	"ours": func(port int, certDir string) server {
		return ourwebhook.NewServer(ourwebhook.Options{Host: "127.0.0.1", Port: port, CertDir: certDir})
	},
	"controller-runtime": func(port int, certDir string) server {
		return theirwebhook.NewServer(theirwebhook.Options{Host: "127.0.0.1", Port: port, CertDir: certDir})
	},
}

// asker calls a webhook.
type asker func() error

// overTLS starts a server, and returns what asks it as an API server does: with HTTP/2, and TLS, on one connection.
func overTLS(b *testing.B, s server, port int, certDir, body string) asker {
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1) // sent once, by the goroutine
	go func() { ended <- s.Start(ctx) }()
	b.Cleanup(func() { stop(); <-ended })
	authority, err := os.ReadFile(filepath.Join(certDir, "tls.crt"))
	require.NoError(b, err)
	trusted := x509.NewCertPool()
	require.True(b, trusted.AppendCertsFromPEM(authority))
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}, ForceAttemptHTTP2: true}}
	address := fmt.Sprintf("https://127.0.0.1:%d", port)
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		answer, err := client.Get(address)
		if err == nil {
			_ = answer.Body.Close()
			require.Equal(b, 2, answer.ProtoMajor)
			return func() error { return call(client, address+"/hook?timeout=10s", body) }
		}
		require.Less(b, time.Since(begin), 10*time.Second, err)
	}
}

// BenchmarkServe measures what a request costs: processor time, memory, and, on a machine with nothing else to do, how
// many requests it serves in a second. The client's part is in it, and is the same for both sides.
func BenchmarkServe(b *testing.B) {
	certDir := b.TempDir()
	certificate(b, certDir)
	for _, c := range []struct{ name, hook, object string }{
		{"validate", "a validator", strings.Replace(largePod(), "DO", "", 1)},
		{"default", "a defaulter", strings.Replace(largePod(), "DO", "label", 1)},
		{"small", "a validator", pod("", "")},
	} {
		body := review("v1", "CREATE", c.object, "null")
		for i, side := range []string{"ours", "controller-runtime"} {
			b.Run("tls/"+c.name+"/"+side, func(b *testing.B) {
				port := freePort(b)
				s := servers[side](port, certDir)
				s.Register("/hook", hooks()[c.hook][i])
				ask := overTLS(b, s, port, certDir, body)
				require.NoError(b, ask())
				b.ReportAllocs()
				b.ResetTimer()
				used := processorTime()
				askAll(b, ask)
				b.ReportMetric(float64(processorTime()-used)/float64(b.N), "cpu-ns/op")
			})
		}
	}
}

// askAll asks b.N times, as many users at a time.
func askAll(b *testing.B, ask asker) {
	b.SetParallelism(users / runtime.GOMAXPROCS(0))
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := ask(); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.StopTimer()
}

func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func call(client *http.Client, url, body string) error {
	answer, err := client.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		return err
	}
	content, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	if err == nil && !strings.Contains(string(content), `"allowed":true`) {
		err = fmt.Errorf("refused: %s", content)
	}
	return err
}

func freePort(t testing.TB) int {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, listener.Close()) }()
	return listener.Addr().(*net.TCPAddr).Port
}

// certificate writes a pair for 127.0.0.1.
func certificate(t testing.TB, dir string) {
	ca, err := pki.NewCA("webhooks")
	require.NoError(t, err)
	pair, err := ca.Server("webhook", "127.0.0.1")
	require.NoError(t, err)
	require.NoError(t, pair.Write(dir))
}
