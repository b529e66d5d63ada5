// Package exec takes the place of client-go's, which runs a program that knows a password. A page runs
// none.
package exec

import (
	"errors"
	"net/http"

	"k8s.io/client-go/pkg/apis/clientauthentication"
	"k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/transport"
)

// Authenticator is none.
type Authenticator struct{}

// UpdateTransportConfig does nothing.
func (*Authenticator) UpdateTransportConfig(*transport.Config) error { return nil }

// GetAuthenticator refuses.
func GetAuthenticator(*api.ExecConfig, *clientauthentication.Cluster) (*Authenticator, error) {
	return nil, errors.New("a page runs no other programs")
}

// WrapTransport changes nothing.
func (*Authenticator) WrapTransport(next http.RoundTripper) http.RoundTripper { return next }
