package devca

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

// authority signs certificates.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         []byte
	from, until time.Time
}

// certificate is what a server shows.
type certificate struct {
	pair        *tls.Certificate
	from, until time.Time
}

// newAuthority makes an authority that signs itself. The path length keeps it from signing others.
func newAuthority(now time.Time, lifetime time.Duration) (authority, error) {
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "webhooks in development"},
		NotBefore:             now.Add(-clockTolerance), // the API server's clock may be behind ours
		NotAfter:              now.Add(lifetime),
		IsCA:                  true,
		MaxPathLenZero:        true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign,
	}
	der, key, err := sign(template, nil)
	if err != nil {
		return authority{}, fmt.Errorf("making a CA: %w", err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		return authority{}, fmt.Errorf("making a CA: %w", err)
	}
	return authority{
		certificate: parsed, key: key,
		pem:  pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		from: now, until: template.NotAfter,
	}, nil
}

// serve makes a server's certificate for some names and addresses. It ends with the authority, if not before.
func (a authority) serve(now time.Time, lifetime time.Duration, hosts []string) (certificate, error) {
	until := now.Add(lifetime)
	if until.After(a.until) {
		until = a.until
	}
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: hosts[0]},
		NotBefore:   now.Add(-clockTolerance),
		NotAfter:    until,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	der, key, err := sign(template, &a)
	if err != nil {
		return certificate{}, fmt.Errorf("making a certificate for %v: %w", hosts, err)
	}
	return certificate{pair: &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, from: now, until: until}, nil
}

// sign makes a key and its certificate, signed by an authority, or by the key itself.
func sign(template *x509.Certificate, by *authority) (der []byte, key *ecdsa.PrivateKey, err error) {
	if key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, nil, err
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)); err != nil {
		return nil, nil, err
	}
	parent, signer := template, key
	if by != nil {
		parent, signer = by.certificate, by.key
	}
	der, err = x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	return der, key, err
}
