package server

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/fakeapi/bufconn"
	"github.com/loopwright/loopwright/internal/tests/inorder"
	"github.com/loopwright/loopwright/manager/internal/logtest"
)

// A Secret that somebody still fills is no reason to be without metrics.
func TestHalfOfAPairIsLikeNone(t *testing.T) {
	for _, missing := range []string{"tls.crt", "tls.key"} {
		dir := t.TempDir()
		writePair(t, dir, "mine")
		require.NoError(t, os.Remove(filepath.Join(dir, missing)))
		url, stop := serve(t, Options{SecureServing: true, CertDir: dir})
		require.Equal(t, []string{"localhost"}, hostOf(t, url), "without %s", missing)
		require.NoError(t, stop())
	}
}

func TestTheFilesOfACertificateMayHaveOtherNames(t *testing.T) {
	dir := t.TempDir()
	writePair(t, dir, "mine")
	require.NoError(t, os.Rename(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "a.pem")))
	require.NoError(t, os.Rename(filepath.Join(dir, "tls.key"), filepath.Join(dir, "b.pem")))
	url, _ := serve(t, Options{SecureServing: true, CertDir: dir, CertName: "a.pem", KeyName: "b.pem"})
	require.Equal(t, []string{"mine"}, hostOf(t, url))
}

// A browser warns, and people wonder.
func TestTheLogSaysWhereACertificateWasLookedFor(t *testing.T) {
	s, err := NewServer(Options{SecureServing: true, BindAddress: "127.0.0.1:0", CertDir: "/nowhere"}, nil, nil)
	require.NoError(t, err)
	var log logtest.Collected
	ctx, stop := context.WithCancel(logr.NewContext(t.Context(), log.Logger(0)))
	stop()
	require.NoError(t, s.Start(ctx))
	require.Contains(t, log.String(), `"msg"="There is no certificate for metrics, so the server signs one for itself" "cert"="/nowhere/tls.crt" "key"="/nowhere/tls.key"`)
	require.Contains(t, log.String(), `"secure"=true`)
}

// A program that chooses for each client brings its certificates, too, so files that are there do not matter.
func TestACertificateOfTheProgramsOwnCountsMoreThanFiles(t *testing.T) {
	files, own := t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(files, "tls.crt"), []byte("broken"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(files, "tls.key"), []byte("broken"), 0o600))
	writePair(t, own, "own")
	pair, err := tls.LoadX509KeyPair(filepath.Join(own, "tls.crt"), filepath.Join(own, "tls.key"))
	require.NoError(t, err)
	for name, change := range inorder.Map(map[string]func(*tls.Config){
		"a certificate": func(c *tls.Config) { c.Certificates = []tls.Certificate{pair} },
		"for each client": func(c *tls.Config) {
			c.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
				return &tls.Config{Certificates: []tls.Certificate{pair}}, nil
			}
		},
	}) {
		t.Run(name, func(t *testing.T) {
			url, _ := serve(t, Options{SecureServing: true, CertDir: files, TLSOpts: []func(*tls.Config){change}})
			require.Equal(t, []string{"own"}, hostOf(t, url))
		})
	}
}

// It is called by a name or by an address of the same machine.
func TestACertificateThatTheServerSignsIsForItsOwnMachine(t *testing.T) {
	pair, err := selfSigned()
	require.NoError(t, err)
	require.NoError(t, pair.Leaf.VerifyHostname("localhost"))
	require.NoError(t, pair.Leaf.VerifyHostname("127.0.0.1"))
	require.Error(t, pair.Leaf.VerifyHostname("example.com"))
}

// Whoever reads the log of a stop looks for what went wrong.
func TestAServerThatStopsDoesNotComplainAboutItsCertificate(t *testing.T) {
	dir := t.TempDir()
	writePair(t, dir, "mine")
	s, err := NewServer(Options{SecureServing: true, BindAddress: "127.0.0.1:0", CertDir: dir}, nil, nil)
	require.NoError(t, err)
	var log logtest.Collected
	ctx, stop := context.WithCancel(logr.NewContext(t.Context(), log.Logger(0)))
	stop()
	require.NoError(t, s.Start(ctx))
	require.Contains(t, log.String(), `"secure"=true`)
	require.NotContains(t, log.String(), "watched")
}

// caller is a connection to a server in a bubble.
type caller struct {
	*testing.T
	net.Conn
}

// connect serves a handler, and returns a connection to it.
func connect(t *testing.T, ctx context.Context, log logr.Logger, handler http.HandlerFunc) (caller, *bufconn.Listener, <-chan error) {
	t.Helper()
	listener := bufconn.NewListener()
	ended := make(chan error, 1)
	go func() { ended <- serveOn(ctx, listener, handler, log) }()
	conn, err := listener.Dial(ctx)
	require.NoError(t, err)
	return caller{t, conn}, listener, ended
}

func (c caller) ask() {
	c.Helper()
	_, err := c.Write([]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"))
	require.NoError(c, err)
	synctest.Wait()
}

// A client that stops reading would keep a copy of all metrics, and a goroutine, for good.
func TestAScraperThatStopsReadingIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		made, err := NewServer(Options{}, nil, nil)
		require.NoError(t, err)
		mux, err := made.(*server).routes(logr.Discard())
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		c, listener, ended := connect(t, ctx, logr.Discard(), mux.ServeHTTP)
		get := "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
		_, err = io.WriteString(c, get)
		require.NoError(t, err)
		time.Sleep(writeLimit + time.Second)
		_, err = c.Read(make([]byte, 1))
		require.ErrorIs(t, err, io.EOF)

		// One that reads slowly gets all, and the next answer has a limit of its own.
		slow, err := listener.Dial(ctx)
		require.NoError(t, err)
		began := time.Now()
		in := bufio.NewReaderSize(slow, 4096)
		for range 2 {
			_, err = io.WriteString(slow, get)
			require.NoError(t, err)
			answer, err := http.ReadResponse(in, nil)
			require.NoError(t, err)
			for piece := make([]byte, 4096); err == nil; {
				time.Sleep(writeLimit / 2)
				_, err = answer.Body.Read(piece)
			}
			require.ErrorIs(t, err, io.EOF, "it's cut")
		}
		require.Greater(t, time.Since(began), 2*writeLimit)
		stop()
		require.NoError(t, <-ended)
	})
}

func TestARequestThatDoesNotEndDelaysTheStopOnlySoLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logtest.Collected
		ctx, stop := context.WithCancel(t.Context())
		release := make(chan struct{})
		c, _, ended := connect(t, ctx, log.Logger(0), func(http.ResponseWriter, *http.Request) { <-release })
		c.ask()
		began := time.Now()
		stop()
		require.NoError(t, <-ended)
		require.Equal(t, shutdownLimit, time.Since(began))
		require.Contains(t, log.String(), "The metrics server cuts requests that do not end")
		_, err := c.Read(make([]byte, 1))
		require.Error(t, err, "the connection was cut")
		close(release)
	})
}

// Prometheus asks at any time, and the last values are often those that somebody looks for.
func TestTheServerEndsWhenItsRequestsHave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logtest.Collected
		ctx, stop := context.WithCancel(t.Context())
		c, _, ended := connect(t, ctx, log.Logger(0), func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			time.Sleep(time.Second)
		})
		c.ask()
		answered := make(chan error, 1)
		go func() {
			_, err := io.ReadAll(c)
			answered <- err
		}()
		began := time.Now()
		stop()
		require.NoError(t, <-ended)
		require.GreaterOrEqual(t, time.Since(began), time.Second, "the request was still being served")
		require.Less(t, time.Since(began), shutdownLimit)
		require.NoError(t, <-answered)
		require.Empty(t, log.String(), "nothing was cut")
	})
}

func TestAServerWhosePortIsGoneSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, listener, ended := connect(t, t.Context(), logr.Discard(), http.NotFound)
		require.NoError(t, listener.Close())
		require.ErrorContains(t, <-ended, "serve metrics: ")
		began := time.Now()
		_, err := c.Read(make([]byte, 1))
		require.Error(t, err)
		require.Zero(t, time.Since(began), "whoever is connected would wait for an answer of nobody")
	})
}

// Anybody who reaches the port could otherwise take all of the process's connections.
func TestConnectionsThatDoNothingAreClosed(t *testing.T) {
	for name, asks := range inorder.Map(map[string]bool{"without a question": false, "after an answer": true}) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				c, _, ended := connect(t, ctx, logr.Discard(), func(http.ResponseWriter, *http.Request) {})
				if asks {
					c.ask()
				}
				began := time.Now()
				_, err := io.ReadAll(c)
				require.NoError(t, err)
				require.Less(t, time.Since(began), 5*time.Minute)
				stop()
				require.NoError(t, <-ended)
			})
		})
	}
}
