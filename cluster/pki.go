package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Who trusts whom: one CA vouches for the API server and for its clients, a
// second one for etcd and for etcd's only client, the API server. So no
// certificate that a user of the cluster holds opens etcd.

// validity is how long a certificate lasts; renewal is how long before its end
// a cluster that starts anew makes new ones.
const (
	validity = 365 * 24 * time.Hour
	renewal  = 30 * 24 * time.Hour
)

// keyPair is a certificate and its key, both also as PEM.
type keyPair struct {
	certificate     *x509.Certificate
	key             *ecdsa.PrivateKey
	certPEM, keyPEM []byte
}

// clients are the users that get a kubeconfig. Their rights come from the API
// server's own RBAC roles, kwok's from the role that up makes.
var clients = map[string]pkix.Name{
	"admin":                   {CommonName: "loopwright-admin", Organization: []string{"system:masters"}},
	"kube-controller-manager": {CommonName: "system:kube-controller-manager"},
	"kube-scheduler":          {CommonName: "system:kube-scheduler"},
	"kwok":                    {CommonName: kwokUser},
}

// writePKI makes all keys and certificates of a cluster.
func writePKI(at place) error {
	ca, err := newCA("loopwright")
	if err != nil {
		return err
	}
	etcdCA, err := newCA("loopwright-etcd")
	if err != nil {
		return err
	}
	apiServer, err := ca.issue(pkix.Name{CommonName: "kube-apiserver"}, x509.ExtKeyUsageServerAuth)
	if err != nil {
		return err
	}
	etcdServer, err := etcdCA.issue(pkix.Name{CommonName: "etcd"}, x509.ExtKeyUsageServerAuth)
	if err != nil {
		return err
	}
	etcdClient, err := etcdCA.issue(pkix.Name{CommonName: "kube-apiserver"}, x509.ExtKeyUsageClientAuth)
	if err != nil {
		return err
	}
	_, serviceAccountPEM, err := newKey()
	if err != nil {
		return err
	}
	for file, content := range map[string][]byte{
		"ca.crt": ca.certPEM, "ca.key": ca.keyPEM, "etcd-ca.crt": etcdCA.certPEM,
		"kube-apiserver.crt": apiServer.certPEM, "kube-apiserver.key": apiServer.keyPEM,
		"etcd-server.crt": etcdServer.certPEM, "etcd-server.key": etcdServer.keyPEM,
		"etcd-client.crt": etcdClient.certPEM, "etcd-client.key": etcdClient.keyPEM,
		"service-account.key": serviceAccountPEM,
	} {
		if err := privateFile(at.pki(file), content); err != nil {
			return err
		}
	}
	for name, subject := range clients {
		client, err := ca.issue(subject, x509.ExtKeyUsageClientAuth)
		if err != nil {
			return err
		}
		if err := writeKubeconfig(at.client(name), "", ca.certPEM, client); err != nil {
			return err
		}
	}
	return nil
}

// pkiIsFresh tells whether keys are there and last for a while yet.
func pkiIsFresh(at place, now time.Time) bool {
	content, err := os.ReadFile(at.pki("ca.crt"))
	if err != nil {
		return false
	}
	block, _ := pem.Decode(content)
	if block == nil {
		return false
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	return err == nil && now.Add(renewal).Before(certificate.NotAfter)
}

// pointKubeconfigs writes the API server's address into every kubeconfig and
// puts the administrator's where kubectl's users look for it.
func pointKubeconfigs(at place, server string) error {
	for name := range clients {
		config, err := clientcmd.LoadFromFile(at.client(name))
		if err != nil {
			return fmt.Errorf("reading %s: %w", at.client(name), err)
		}
		config.Clusters[kubeconfigName].Server = server
		path := at.client(name)
		if name == "admin" {
			path = at.kubeconfig()
		}
		content, err := clientcmd.Write(*config)
		if err != nil {
			return fmt.Errorf("writing %s: %w", path, err)
		}
		if err := privateFile(path, content); err != nil {
			return err
		}
	}
	return nil
}

// kubeconfigName names cluster, user and context in a kubeconfig.
const kubeconfigName = "loopwright"

func writeKubeconfig(path, server string, caPEM []byte, client *keyPair) error {
	config := clientcmdapi.NewConfig()
	config.Clusters[kubeconfigName] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: caPEM}
	config.AuthInfos[kubeconfigName] = &clientcmdapi.AuthInfo{ClientCertificateData: client.certPEM, ClientKeyData: client.keyPEM}
	config.Contexts[kubeconfigName] = &clientcmdapi.Context{Cluster: kubeconfigName, AuthInfo: kubeconfigName}
	config.CurrentContext = kubeconfigName
	content, err := clientcmd.Write(*config)
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return privateFile(path, content)
}

func newKey() (*ecdsa.PrivateKey, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("making a key: %w", err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, nil, fmt.Errorf("making a key: %w", err)
	}
	return key, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}

func newCA(name string) (*keyPair, error) {
	return sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}, nil)
}

// issue makes a certificate. A server's is good for the loopback addresses and
// for the names that clients inside a cluster use.
func (ca *keyPair) issue(subject pkix.Name, usage x509.ExtKeyUsage) (*keyPair, error) {
	template := &x509.Certificate{
		Subject: subject, ExtKeyUsage: []x509.ExtKeyUsage{usage},
		KeyUsage: x509.KeyUsageDigitalSignature,
	}
	if usage == x509.ExtKeyUsageServerAuth {
		template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(10, 96, 0, 1)}
		template.DNSNames = []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"}
	}
	return sign(template, ca)
}

// sign completes a certificate; without a CA it signs itself.
func sign(template *x509.Certificate, ca *keyPair) (*keyPair, error) {
	key, keyPEM, err := newKey()
	if err != nil {
		return nil, err
	}
	template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("making a serial number: %w", err)
	}
	// An hour back, for clocks that were set meanwhile.
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(validity)
	parent, signer := template, key
	if ca != nil {
		parent, signer = ca.certificate, ca.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return nil, fmt.Errorf("signing the certificate of %s: %w", template.Subject.CommonName, err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("reading back the certificate of %s: %w", template.Subject.CommonName, err)
	}
	return &keyPair{
		certificate: certificate, key: key, keyPEM: keyPEM,
		certPEM: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
	}, nil
}
