package pki

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestACertificateIsGoodForItsHostsAndItsUseAlone(t *testing.T) {
	ca, err := NewCA("a")
	require.NoError(t, err)
	other, err := NewCA("a")
	require.NoError(t, err)
	server, err := ca.Server("server", "127.0.0.1", "localhost")
	require.NoError(t, err)
	client, err := ca.Client(pkix.Name{CommonName: "ann", Organization: []string{"readers"}})
	require.NoError(t, err)
	check := func(by, pair *Pair, host string, use x509.ExtKeyUsage) error {
		roots := x509.NewCertPool()
		require.True(t, roots.AppendCertsFromPEM(by.CertPEM))
		_, err := pair.Certificate.Verify(x509.VerifyOptions{Roots: roots, DNSName: host, KeyUsages: []x509.ExtKeyUsage{use}})
		return err
	}
	assert.NoError(t, check(ca, server, "127.0.0.1", x509.ExtKeyUsageServerAuth))
	assert.NoError(t, check(ca, server, "localhost", x509.ExtKeyUsageServerAuth))
	assert.Error(t, check(ca, server, "elsewhere", x509.ExtKeyUsageServerAuth))
	assert.Error(t, check(ca, server, "localhost", x509.ExtKeyUsageClientAuth))
	assert.NoError(t, check(ca, client, "", x509.ExtKeyUsageClientAuth))
	assert.Error(t, check(ca, client, "", x509.ExtKeyUsageServerAuth))
	assert.Error(t, check(other, server, "localhost", x509.ExtKeyUsageServerAuth), "two CAs of one name are not the same")
	assert.Equal(t, "CN=ann,O=readers", client.Certificate.Subject.String())
}

func TestAPairThatWasWrittenDownIsTheSameWhenItIsReadBack(t *testing.T) {
	ca, err := NewCA("a")
	require.NoError(t, err)
	again, err := Load(ca.CertPEM, ca.KeyPEM)
	require.NoError(t, err)
	assert.True(t, ca.Key.Equal(again.Key))
	assert.True(t, ca.Certificate.Equal(again.Certificate))
	other, err := NewCA("b")
	require.NoError(t, err)
	_, err = Load(ca.CertPEM, other.KeyPEM)
	assert.ErrorContains(t, err, "reading a certificate and its key")
	_, err = Load(nil, nil)
	assert.Error(t, err)
}
