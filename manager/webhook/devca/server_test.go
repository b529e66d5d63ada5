package devca

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/webhook"
)

// A manager that is ready too early gets its Pod's first requests before the API server trusts it,
// and they fail.
func TestAServerIsReadyWhenTheAPIServerCanTrustIt(t *testing.T) {
	server := fakeapi.New(fakeapi.Options{Kinds: []fakeapi.Kind{{Group: validating.Group,
		Version: "v1", Kind: validating.Kind, ClusterScoped: true}}})
	defer server.Close()
	c, err := client.New(server.Config(), client.Options{})
	require.NoError(t, err)
	ca, err := New(server.Config(), Options{ValidatingWebhookConfigurations: []string{"shop"}})
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	opts := make([]func(*tls.Config), 1, 2) // with room for one more, which belongs to the program
	opts[0] = func(config *tls.Config) { config.NextProtos = append(config.NextProtos, "mine") }
	hooks := ca.NewServer(webhook.Options{Listener: listener, TLSOpts: opts})
	require.Nil(t, opts[:2][1], "the program's slice is not written to")
	check := hooks.StartedChecker()
	require.ErrorContains(t, check(nil), "webhook server has not been started yet")

	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- hooks.Start(ctx) }()
	require.NoError(t,
		hooks.(interface{ WaitUntilReady(context.Context) error }).WaitUntilReady(t.Context()))
	require.ErrorContains(t, check(nil), "ValidatingWebhookConfiguration shop")

	require.NoError(t, c.Create(t.Context(), webhooks(ca.targets[0])))
	for done := false; !done; {
		ca.mu.Lock()
		wrong, changed := ca.announcedLocked(), ca.changed
		ca.mu.Unlock()
		if done = wrong == nil; !done {
			<-changed
		}
	}
	require.NoError(t, check(nil))
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(ca.Bundle()))
	connection, err := tls.Dial("tcp", listener.Addr().String(),
		&tls.Config{RootCAs: roots, NextProtos: []string{"mine"}})
	require.NoError(t, err)
	require.Equal(t, "mine", connection.ConnectionState().NegotiatedProtocol,
		"the program's own options count, too")
	require.NoError(t, connection.Close())

	stop()
	require.NoError(t, <-ended)
}

// What is announced too late cannot be repaired: the API server needs settling to learn, and we a
// part of the life.
func TestALifetimeIsLongEnoughOrRefused(t *testing.T) {
	config := &rest.Config{Host: "https://127.0.0.1:6443"}
	for _, c := range []struct{ lifetime, lives, authority time.Duration }{
		{0, 24 * time.Hour, 240 * time.Hour}, {30 * time.Second, 30 * time.Second,
			300 * time.Second},
	} {
		ca, err := New(config, Options{Lifetime: c.lifetime})
		require.NoError(t, err)
		serving, signer := ca.generation.serving, ca.generation.signer
		require.Equal(t, c.lives, serving.until.Sub(serving.from))
		require.NotContains(t, serving.from.String(), "m=",
			"it would be compared with a clock that stands still while the machine is suspended")
		require.Equal(t, c.authority, signer.until.Sub(signer.from))
	}
	_, err := New(config, Options{Lifetime: 30*time.Second - 1})
	require.EqualError(t, err,
		"devca: a lifetime of 29.999999999s is too short: the API server needs some seconds to "+
			"learn about a new CA; take 30s or more")
	_, err = New(config, Options{Lifetime: 100 * 365 * 24 * time.Hour})
	require.ErrorContains(t, err, "too long", "the CA's, ten times as long, is no duration in Go")

	_, err = New(&rest.Config{Host: "https://127.0.0.1:6443",
		TLSClientConfig: rest.TLSClientConfig{CAFile: "missing.crt"}}, Options{})
	require.ErrorContains(t, err, "devca: ")
	require.ErrorContains(t, err, "missing.crt")
}

// The API server's clock may be behind ours, and a CA of one process signs for this process alone.
func TestACertificateIsGoodAtOnceAndNoLongerThanItsCA(t *testing.T) {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	signer, err := newAuthority(now, time.Hour)
	require.NoError(t, err)
	require.Equal(t, now.Add(-5*time.Minute), signer.certificate.NotBefore)
	require.Equal(t, now.Add(time.Hour), signer.certificate.NotAfter)
	require.True(t, signer.certificate.IsCA)
	require.True(t, signer.certificate.MaxPathLenZero, "it signs no other CA")
	for _, c := range []struct{ lifetime, want time.Duration }{{time.Minute, time.Minute},
		{2 * time.Hour, time.Hour}} {
		serving, err := signer.serve(now, c.lifetime, []string{"localhost"})
		require.NoError(t, err)
		certificate, err := x509.ParseCertificate(serving.pair.Certificate[0])
		require.NoError(t, err)
		require.Equal(t, now.Add(-5*time.Minute), certificate.NotBefore)
		require.Equal(t, now.Add(c.want), certificate.NotAfter)
		require.Equal(t, now.Add(c.want), serving.until)
	}
}

// A certificate for another name is as bad as none: the API server does not connect.
func TestACertificateIsForTheHostsThatAreCalled(t *testing.T) {
	ca, err := New(&rest.Config{Host: "https://127.0.0.1:6443"},
		Options{Hosts: []string{"hooks.shop.svc", "10.0.0.1"}})
	require.NoError(t, err)
	pair, err := ca.GetCertificate(nil)
	require.NoError(t, err)
	certificate, err := x509.ParseCertificate(pair.Certificate[0])
	require.NoError(t, err)
	require.Equal(t, []string{"hooks.shop.svc"}, certificate.DNSNames)
	require.Len(t, certificate.IPAddresses, 1)
	require.NoError(t, certificate.VerifyHostname("10.0.0.1"))
	require.Error(t, certificate.VerifyHostname("localhost"))
}
