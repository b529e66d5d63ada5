// Package pki makes keys and certificates for servers and clients of one machine.
//
// A CA that NewCA makes issues certificates to servers and clients. All of them are for tests and
// demos: keys are made on the spot, and nothing can be revoked.
//
// It is on the ground floor: package cluster takes the certificates of its control plane from it,
// and manager/envtest those of webhook servers and users.
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// validity is how long a certificate lasts.
const validity = 365 * 24 * time.Hour

// Pair is a certificate and its key, both also as PEM.
type Pair struct {
	Certificate     *x509.Certificate
	Key             *ecdsa.PrivateKey
	CertPEM, KeyPEM []byte
}

// NewKey makes a private key, also as PEM.
func NewKey() (*ecdsa.PrivateKey, []byte, error) {
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

// NewCA makes a CA, which has signed its own certificate.
func NewCA(name string) (*Pair, error) {
	return sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}, nil)
}

// Load reads back the PEM of a pair.
func Load(certPEM, keyPEM []byte) (*Pair, error) {
	both, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("reading a certificate and its key: %w", err)
	}
	key, is := both.PrivateKey.(*ecdsa.PrivateKey)
	if !is {
		return nil, errors.New("reading a certificate and its key: the key is of a kind that this package does not make")
	}
	return &Pair{Certificate: both.Leaf, Key: key, CertPEM: certPEM, KeyPEM: keyPEM}, nil
}

// Write writes the pair to a directory, as tls.crt and tls.key: that's what the files of a Secret of
// the type kubernetes.io/tls are called, and what servers read by default.
func (p *Pair) Write(dir string) error {
	if err := os.WriteFile(filepath.Join(dir, "tls.crt"), p.CertPEM, 0o600); err != nil {
		return fmt.Errorf("writing a certificate: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "tls.key"), p.KeyPEM, 0o600); err != nil {
		return fmt.Errorf("writing a certificate's key: %w", err)
	}
	return nil
}

// Client issues a client's certificate. Kubernetes takes the common name for the user and the
// organizations for the groups.
func (ca *Pair) Client(subject pkix.Name) (*Pair, error) {
	return sign(&x509.Certificate{
		Subject: subject, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		KeyUsage: x509.KeyUsageDigitalSignature,
	}, ca)
}

// Server issues a server's certificate, for each of the hosts, which are names or IP addresses.
func (ca *Pair) Server(name string, hosts ...string) (*Pair, error) {
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		KeyUsage: x509.KeyUsageDigitalSignature,
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	return sign(template, ca)
}

// sign completes a certificate; without a CA it signs itself.
func sign(template *x509.Certificate, ca *Pair) (*Pair, error) {
	key, keyPEM, err := NewKey()
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
		parent, signer = ca.Certificate, ca.Key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return nil, fmt.Errorf("signing the certificate of %s: %w", template.Subject.CommonName, err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("reading back the certificate of %s: %w", template.Subject.CommonName, err)
	}
	return &Pair{
		Certificate: certificate, Key: key, KeyPEM: keyPEM,
		CertPEM: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
	}, nil
}
