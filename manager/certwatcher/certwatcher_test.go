package certwatcher

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/tests/inorder"
)

// pair is a certificate and its key, as files hold them.
type pair struct{ cert, key []byte }

// newPair makes a pair for a host. A nil key means a new one.
func newPair(t *testing.T, host string, key *ecdsa.PrivateKey) (pair, *ecdsa.PrivateKey) {
	t.Helper()
	if key == nil {
		var err error
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		require.NoError(t, err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: host}, DNSNames: []string{host},
		NotAfter: time.Now().AddDate(1, 0, 0),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	keyDER, err := x509.MarshalECPrivateKey(key)
	require.NoError(t, err)
	return pair{
		cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		key:  pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}),
	}, key
}

func fresh(t *testing.T, host string) pair {
	t.Helper()
	p, _ := newPair(t, host, nil)
	return p
}

// files are the two files in a directory.
type files struct {
	*testing.T
	dir string
}

func inFiles(t *testing.T, p pair) files {
	f := files{t, t.TempDir()}
	f.write(p)
	return f
}

func (f files) cert() string { return filepath.Join(f.dir, "tls.crt") }
func (f files) key() string  { return filepath.Join(f.dir, "tls.key") }

func (f files) write(p pair) {
	f.Helper()
	require.NoError(f, os.WriteFile(f.cert(), p.cert, 0o600))
	require.NoError(f, os.WriteFile(f.key(), p.key, 0o600))
}

func (f files) watcher() *CertWatcher {
	f.Helper()
	cw, err := New(f.cert(), f.key())
	require.NoError(f, err)
	return cw
}

// serves is the host that the certificate in use is for.
func serves(t *testing.T, cw *CertWatcher) string {
	t.Helper()
	c, err := cw.GetCertificate(nil)
	require.NoError(t, err)
	return c.Leaf.Subject.CommonName
}

// A bubble's clock begins in 2000, and nothing here looks at the dates in certificates.
func running(t *testing.T, cw *CertWatcher, changes <-chan struct{}) {
	t.Helper()
	stopped := false
	cw.notify = func(*CertWatcher) (<-chan struct{}, func()) {
		return changes, func() { stopped = true }
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- cw.Start(ctx) }()
	synctest.Wait()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
		require.True(t, stopped)
	})
}

func TestWithoutAValidPairThereIsNoWatcher(t *testing.T) {
	a, b := fresh(t, "a"), fresh(t, "b")
	for name, c := range inorder.Map(map[string]struct {
		pair pair
		want string
	}{
		"the key is of another certificate": {pair{a.cert, b.key},
			"private key does not match public key"},
		"the certificate is not one": {pair{[]byte("hello"), a.key}, "load the certificate"},
		"the certificate is cut off": {pair{a.cert[:len(a.cert)-10], a.key},
			"ends in the middle of a PEM block"},
		"its chain is cut off": {pair{append(bytes.Clone(a.cert), b.cert[:50]...),
			a.key}, "ends in the middle of a PEM block"},
		"the key is cut off": {pair{a.cert, a.key[:len(a.key)-10]},
			"ends in the middle of a PEM block"},
	}) {
		t.Run(name, func(t *testing.T) {
			f := inFiles(t, c.pair)
			_, err := New(f.cert(), f.key())
			require.ErrorContains(t, err, c.want)
		})
	}
	f := inFiles(t, a)
	_, err := New(f.cert()+"x", f.key())
	missing := func(err error) {
		t.Helper()
		require.ErrorIs(t, err, fs.ErrNotExist)
		require.True(t, os.IsNotExist(err), "it sees no error that is wrapped")
	}
	missing(err)
	_, err = New(f.cert(), f.key()+"x")
	missing(err)
}

func TestAChangedPairIsServedAsSoonAsTheFilesAreLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := inFiles(t, fresh(t, "old"))
		cw := f.watcher()
		changes := make(chan struct{})
		running(t, cw, changes)
		f.write(fresh(t, "new"))
		for range 5 { // several events for one change
			changes <- struct{}{}
			time.Sleep(settle - 1)
			require.Equal(t, "old", serves(t, cw), "it may not be finished")
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		require.Equal(t, "new", serves(t, cw))
	})
}

func TestAChangeThatNobodyAnnouncedIsFoundAtTheInterval(t *testing.T) {
	for name, interval := range inorder.Map(map[string]time.Duration{"the default": 0, "none": 0,
		"a negative one": -1, "another": time.Minute}) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := inFiles(t, fresh(t, "old"))
				cw := f.watcher()
				want := defaultWatchInterval
				if name != "the default" {
					cw.WithWatchInterval(interval)
				}
				if interval > 0 {
					want = interval
				}
				running(t, cw, nil)
				f.write(fresh(t, "new"))
				time.Sleep(want - 1)
				synctest.Wait()
				require.Equal(t, "old", serves(t, cw))
				time.Sleep(time.Nanosecond)
				synctest.Wait()
				require.Equal(t, "new", serves(t, cw))
			})
		})
	}
}

func TestAChangeBetweenNewAndStartIsNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := inFiles(t, fresh(t, "old"))
		cw := f.watcher()
		f.write(fresh(t, "new"))
		running(t, cw, nil)
		require.Equal(t, "new", serves(t, cw))
	})
}

// This is what a server would serve if it read while somebody writes.
func TestAHalfWrittenPairIsNeverServed(t *testing.T) {
	old, key := newPair(t, "old", nil)
	renewed, _ := newPair(t, "new", key) // the same key: the pair fits at every moment
	renewed.cert = append(renewed.cert, fresh(t, "authority").cert...)
	f := inFiles(t, old)
	cw := f.watcher()
	whole := 0
	for n := range renewed.cert {
		require.NoError(t, os.WriteFile(f.cert(), renewed.cert[:n+1], 0o600))
		if err := cw.ReadCertificate(); err != nil {
			continue
		}
		c, err := cw.GetCertificate(nil)
		require.NoError(t, err)
		if serves(t, cw) == "new" {
			whole = max(whole, len(c.Certificate))
		}
	}
	require.Equal(t, 2, whole,
		"in the end the chain is there, though the first certificate was there before")

	other := fresh(t, "other")
	require.NoError(t, os.WriteFile(f.cert(), other.cert, 0o600))
	require.ErrorContains(t, cw.ReadCertificate(), "private key does not match public key")
	require.Equal(t, "new", serves(t, cw), "the last good pair stays")
	require.NoError(t, os.WriteFile(f.key(), other.key, 0o600))
	require.NoError(t, cw.ReadCertificate())
	require.Equal(t, "other", serves(t, cw))
}

func TestTheCallbackIsToldThePresentPairAndEachNewOne(t *testing.T) {
	f := inFiles(t, fresh(t, "a"))
	cw := f.watcher()
	var told []string
	cw.RegisterCallback(func(c tls.Certificate) { told = append(told, c.Leaf.Subject.CommonName) })
	require.NoError(t, cw.ReadCertificate())
	f.write(fresh(t, "b"))
	require.NoError(t, cw.ReadCertificate())
	require.NoError(t, cw.ReadCertificate())
	require.Equal(t, []string{"a", "b"}, told)
}
