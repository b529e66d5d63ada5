package claims_test

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/loopwright/loopwright/manager/webhook/devca"
)

// The text has a table of messages and their reasons. An API server is a client of Go's crypto/tls, as this test is.
func TestTheMessagesOfTheTableHaveTheReasonsThatItNames(t *testing.T) {
	for _, c := range []struct {
		hosts   []string
		trusted bool
		want    string
	}{
		{[]string{"127.0.0.1"}, true, ""},
		{[]string{"127.0.0.1"}, false, "x509: certificate signed by unknown authority"},
		{[]string{"10.0.0.1"}, true, "x509: certificate is valid for 10.0.0.1, not 127.0.0.1"},
		{[]string{"stalls.market.svc"}, true, "x509: cannot validate certificate for 127.0.0.1 because it doesn't contain any IP SANs"},
	} {
		ca, err := devca.New(&rest.Config{Host: "https://127.0.0.1:1"}, devca.Options{Hosts: c.hosts})
		require.NoError(t, err)
		roots := x509.NewCertPool()
		if c.trusted {
			roots.AppendCertsFromPEM(ca.Bundle())
		}
		listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{GetCertificate: ca.GetCertificate})
		require.NoError(t, err)
		ended := make(chan struct{}) // closed by the server, after its only handshake
		go func() {
			defer close(ended)
			if connection, err := listener.Accept(); err == nil {
				_ = connection.(*tls.Conn).HandshakeContext(t.Context())
				_ = connection.Close()
			}
		}()
		connection, err := tls.Dial("tcp", listener.Addr().String(), &tls.Config{RootCAs: roots})
		if c.want == "" {
			require.NoError(t, err)
			require.NoError(t, connection.Close())
		} else {
			require.ErrorContains(t, err, c.want)
		}
		<-ended
		require.NoError(t, listener.Close())
	}
}

// A reader who copies the configuration of the text must get one that the API server takes.
func TestTheConfigurationOfTheTextCanBeRead(t *testing.T) {
	text, err := os.ReadFile("../limit.yaml")
	require.NoError(t, err)
	var c admissionregistrationv1.ValidatingWebhookConfiguration
	require.NoError(t, yaml.UnmarshalStrict(text, &c))
	require.Equal(t, "ValidatingWebhookConfiguration", c.Kind)
	require.Equal(t, admissionregistrationv1.Fail, *c.Webhooks[0].FailurePolicy)
	require.Equal(t, "-----BEGIN CERTIFICATE-----", string(c.Webhooks[0].ClientConfig.CABundle))
}
