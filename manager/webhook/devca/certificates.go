package devca

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// authority signs certificates.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         []byte
	from, until time.Time
}

// certificate is a server's certificate and key.
type certificate struct {
	pair        *tls.Certificate
	from, until time.Time
}

// newAuthority makes a self-signed authority. The path length keeps it from signing other
// authorities.
func newAuthority(now time.Time, lifetime time.Duration) (authority, error) {
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "webhooks in development"},
		NotBefore:             now.Add(-clockTolerance),
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

// serve makes a server's certificate for some names and addresses. It expires with the authority,
// if not before.
func (a authority) serve(
	now time.Time, lifetime time.Duration, hosts []string,
) (certificate, error) {
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
	pair := &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	return certificate{pair: pair, from: now, until: until}, nil
}

// sign makes a key and its certificate, signed by an authority, or by the key itself.
func sign(
	template *x509.Certificate, by *authority,
) (der []byte, key *ecdsa.PrivateKey, err error) {
	if key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, nil, err
	}
	limit := new(big.Int).Lsh(big.NewInt(1), 127)
	if template.SerialNumber, err = rand.Int(rand.Reader, limit); err != nil {
		return nil, nil, err
	}
	parent, signer := template, key
	if by != nil {
		parent, signer = by.certificate, by.key
	}
	der, err = x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	return der, key, err
}

// region rotation

// generation is the state of the certificates: which authority signs, which certificate is served,
// and which authorities the API server trusts.
type generation struct {
	signer  authority // signs the certificate that is served
	serving certificate
	// next is the authority after signer. It signs nothing until the API server has read the
	// configurations with it.
	next *authority
	// told is when all configurations had next; zero until then.
	told time.Time
	// asked is when Renew was called for the next authority; zero if it wasn't.
	asked time.Time
	// last is the authority before signer. Connections that began with it go on, so the API server
	// trusts it until it expires.
	last *authority
}

// step is what to do next with a generation.
type step int

const (
	stay       step = iota // wait until the time that due returns
	renew                  // sign a new serving certificate
	makeNext               // make the next authority, and publish it
	promote                // let next sign
	forgetLast             // stop publishing last
)

const (
	// settling is how long the API server may take to read a configuration that was written.
	settling = 10 * time.Second
	// renewAt is the fraction of its life after which a certificate is renewed. The rest is left to
	// repair a failure.
	renewAt = 2.0 / 3
	// promoteAt is the fraction of an authority's life after which the next one signs, even if
	// publishing it has failed.
	promoteAt = 0.9
	// clockTolerance is how far the API server's clock may be behind ours.
	clockTolerance = 5 * time.Minute
)

// due is the step for a generation at a time, or when to call due again.
//
// A new authority is published beside the old one, and signs only when the API server has had time
// to read the configurations. So there's no moment at which it doesn't trust what is served. If
// publishing fails, nothing changes until the old authority must be replaced anyway.
func (g generation) due(now time.Time) (step, time.Time) {
	type deadline struct {
		step step
		at   time.Time
	}
	deadlines := []deadline{{renew, after(renewAt, g.serving.from, g.serving.until)}}
	if g.next == nil {
		at := after(renewAt, g.signer.from, g.signer.until)
		if !g.asked.IsZero() && g.asked.Before(at) {
			at = g.asked
		}
		deadlines = append(deadlines, deadline{makeNext, at})
	} else if g.told.IsZero() {
		deadlines = append(deadlines, deadline{promote,
			after(promoteAt, g.signer.from, g.signer.until)})
	} else {
		deadlines = append(deadlines, deadline{promote, g.told.Add(settling)})
	}
	if g.last != nil {
		deadlines = append(deadlines, deadline{forgetLast, g.last.until})
	}
	var first deadline
	for i, d := range deadlines {
		if i == 0 || d.at.Before(first.at) {
			first = d
		}
	}
	if first.at.After(now) {
		return stay, first.at
	}
	return first.step, now
}

// after is the time at which a fraction of a life is over.
func after(part float64, from, until time.Time) time.Time {
	return from.Add(time.Duration(float64(until.Sub(from)) * part))
}

// bundle is the authorities that the API server has to trust, in PEM form.
func (g generation) bundle() (pem []byte) {
	for _, a := range []*authority{g.next, &g.signer, g.last} {
		if a != nil {
			pem = append(pem, a.pem...)
		}
	}
	return pem
}

// endregion rotation

var (
	mutating = schema.GroupVersionKind{
		Group: "admissionregistration.k8s.io", Version: "v1", Kind: "MutatingWebhookConfiguration",
	}
	validating = schema.GroupVersionKind{
		Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingWebhookConfiguration",
	}
	crd = schema.GroupVersionKind{
		Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition",
	}
)

// putBundle writes a bundle to every webhook client configuration in an object. It returns whether
// it changed anything, and leaves all other fields alone, even those that this program doesn't
// know.
func putBundle(object *unstructured.Unstructured, bundle []byte) (changed bool, err error) {
	text := base64.StdEncoding.EncodeToString(bundle)
	put := func(clientConfig map[string]any) {
		if clientConfig["caBundle"] != text {
			clientConfig["caBundle"], changed = text, true
		}
	}
	if object.GroupVersionKind() == crd {
		clientConfig, _, _ := unstructured.NestedFieldNoCopy(object.Object,
			"spec", "conversion", "webhook", "clientConfig")
		fields, is := clientConfig.(map[string]any)
		if !is {
			return false, errors.New("it has no conversion webhook: set " +
				"spec.conversion.strategy to Webhook, and spec.conversion.webhook.clientConfig")
		}
		put(fields)
		return changed, nil
	}
	list, _ := object.Object["webhooks"].([]any)
	if len(list) == 0 {
		return false, errors.New("it has no webhooks")
	}
	for i, webhook := range list {
		fields, _ := webhook.(map[string]any)
		clientConfig, is := fields["clientConfig"].(map[string]any)
		if !is {
			return false, fmt.Errorf("its webhooks[%d] has no clientConfig", i)
		}
		put(clientConfig)
	}
	return changed, nil
}
