package cluster

import (
	"crypto/x509/pkix"
	"fmt"
	"os"

	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/pki"
)

// UserConfig returns the configuration of a new user with this name and these groups. The user has
// only the permissions that RBAC gives to them; the group system:masters may do everything. Only an
// embedded cluster can make users.
func (c *Cluster) UserConfig(name string, groups []string) (*rest.Config, error) {
	if c.Mode != Embedded {
		return nil, fmt.Errorf("making a user of a %s cluster: %w", c.Mode, ErrOutOfReach)
	}
	user, err := c.embedded.at.issue(pkix.Name{CommonName: name, Organization: groups})
	if err != nil {
		return nil, fmt.Errorf("making the user %s: %w", name, err)
	}
	config := c.RESTConfig()
	config.CertData, config.KeyData = user.CertPEM, user.KeyPEM
	return config, nil
}

// issue makes a client's certificate, with the CA that the API server trusts.
func (p place) issue(subject pkix.Name) (*pki.Pair, error) {
	certPEM, err := os.ReadFile(p.pki("ca.crt"))
	if err != nil {
		return nil, err
	}
	keyPEM, err := os.ReadFile(p.pki("ca.key"))
	if err != nil {
		return nil, err
	}
	ca, err := pki.Load(certPEM, keyPEM)
	if err != nil {
		return nil, err
	}
	return ca.Client(subject)
}
