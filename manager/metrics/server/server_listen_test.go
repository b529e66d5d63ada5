package server

import (
	"context"
	"crypto/tls"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/inorder"
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
	var log logged
	ctx, stop := context.WithCancel(logr.NewContext(t.Context(), log.logger()))
	stop()
	require.NoError(t, s.Start(ctx))
	require.Contains(t, log.told(), `"msg"="There is no certificate for metrics, so the server signs one for itself" "cert"="/nowhere/tls.crt" "key"="/nowhere/tls.key"`)
	require.Contains(t, log.told(), `"secure"=true`)
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
	var log logged
	ctx, stop := context.WithCancel(logr.NewContext(t.Context(), log.logger()))
	stop()
	require.NoError(t, s.Start(ctx))
	require.Contains(t, log.told(), `"secure"=true`)
	require.NotContains(t, log.told(), "watched")
}
