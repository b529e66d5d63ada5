package webhook

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	theirwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"

	ourwebhook "github.com/loopwright/loopwright/manager/webhook"
)

// users is how many requests are under way at a time.
const users = 16

// server is what both webhook servers are.
type server interface {
	Register(path string, hook http.Handler)
	Start(context.Context) error
	WebhookMux() *http.ServeMux
}

// servers makes one of each side, which listens on this port.
var servers = map[string]func(port int, certDir string) server{
	"ours": func(port int, certDir string) server {
		return ourwebhook.NewServer(ourwebhook.Options{Host: "127.0.0.1", Port: port, CertDir: certDir})
	},
	"theirs": func(port int, certDir string) server {
		return theirwebhook.NewServer(theirwebhook.Options{Host: "127.0.0.1", Port: port, CertDir: certDir})
	},
}

// BenchmarkServe asks as an API server does: many requests at a time on one connection, with HTTP/2 and TLS. It measures the whole
// way, with the client's part, which is the same for both.
func BenchmarkServe(b *testing.B) {
	eachServed(b, func(b *testing.B, s server, port int, certDir string) (*http.Client, string) {
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
				return client, address
			}
			require.Less(b, time.Since(begin), 10*time.Second, err)
		}
	})
}

// BenchmarkServePlain asks without TLS, over HTTP/1.1: what is left is the handler and the server of net/http.
func BenchmarkServePlain(b *testing.B) {
	eachServed(b, func(b *testing.B, s server, _ int, _ string) (*http.Client, string) {
		plain := httptest.NewServer(s.WebhookMux())
		b.Cleanup(plain.Close)
		return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: users}}, plain.URL
	})
}

func eachServed(b *testing.B, start func(b *testing.B, s server, port int, certDir string) (*http.Client, string)) {
	certDir := b.TempDir()
	certificate(b, certDir)
	for _, c := range []struct{ name, hook, object string }{
		{"validate", "a validator", strings.Replace(largePod(), "DO", "", 1)},
		{"default", "a defaulter", strings.Replace(largePod(), "DO", "label", 1)},
		{"small", "a validator", pod("", "")},
	} {
		body := review("v1", "CREATE", c.object, "null")
		for i, side := range []string{"ours", "theirs"} {
			b.Run(c.name+"/"+side, func(b *testing.B) {
				port := freePort(b)
				s := servers[side](port, certDir)
				s.Register("/hook", hooks()[c.hook][i])
				client, address := start(b, s, port, certDir)
				measure(b, func() error { return call(client, address+"/hook?timeout=10s", body) })
			})
		}
	}
}

// measure calls b.N times, with some calls at a time, and also reports how long the slowest of a hundred calls take.
func measure(b *testing.B, call func() error) {
	var mu sync.Mutex // guards all
	var all []time.Duration
	b.SetParallelism(users / 2) // for each of 2 processors
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		var own []time.Duration
		for pb.Next() {
			begin := time.Now()
			if err := call(); err != nil {
				b.Error(err)
				return
			}
			own = append(own, time.Since(begin))
		}
		mu.Lock()
		defer mu.Unlock()
		all = append(all, own...)
	})
	b.StopTimer()
	slices.Sort(all)
	if len(all) > 0 {
		b.ReportMetric(float64(all[len(all)*99/100].Nanoseconds()), "p99-ns")
	}
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
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	for name, block := range map[string]*pem.Block{"tls.crt": {Type: "CERTIFICATE", Bytes: der}, "tls.key": {Type: "PRIVATE KEY", Bytes: keyDER}} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600))
	}
}
