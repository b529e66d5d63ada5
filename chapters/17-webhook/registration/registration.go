// Package registration tells an API server about a webhook: where it is, whom to trust, and what to ask it.
package registration

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	admission "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/chapters/17-webhook/typo"
	"github.com/loopwright/loopwright/cluster"
	"github.com/loopwright/loopwright/internal/pki"
	"github.com/loopwright/loopwright/mini"
)

// Registration is what the API server knows about one webhook. Write stores the two configurations.
type Registration struct {
	Mutating   *admission.MutatingWebhookConfiguration
	Validating *admission.ValidatingWebhookConfiguration

	user *typo.User
	url  string // of the webhook, as the API server calls it
	ca   []byte // signed its certificate
}

// New gives the webhook an address and a certificate.
func New(u *typo.User, w *mini.Webhook) (*Registration, error) {
	meta := metav1.ObjectMeta{Name: "websites-" + u.Namespace}
	r := &Registration{
		Mutating:   &admission.MutatingWebhookConfiguration{ObjectMeta: meta},
		Validating: &admission.ValidatingWebhookConfiguration{ObjectMeta: meta},
		user:       u,
	}
	host := os.Getenv("WEBHOOK_HOST")
	if host == "" {
		host = hostFor(u.Cluster.Mode)
	}
	if host == "" {
		return nil, fmt.Errorf("the API server calls this program: set WEBHOOK_HOST to an address "+
			"of this machine that the %s cluster can reach", u.Cluster.Mode)
	}
	listen := host
	if host != "127.0.0.1" {
		listen = ""
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(listen, "0"))
	if err != nil {
		return nil, err
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	r.url = "https://" + net.JoinHostPort(host, port)
	certificate, err := r.certificate(host)
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	w.Listener = tls.NewListener(listener, &tls.Config{
		Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS13,
	})
	return r, nil
}

// hostFor returns the address under which the cluster reaches this machine, or "" if that is unknown. The
// containers of a kind cluster reach the address that this machine has in its network.
func hostFor(mode cluster.Mode) string {
	switch mode {
	case cluster.Embedded:
		return "127.0.0.1"
	case cluster.Kind:
		route, err := net.Dial("udp", "192.0.2.1:9") // finds the address, and sends nothing
		if err != nil {
			return ""
		}
		defer func() { _ = route.Close() }()
		return route.LocalAddr().(*net.UDPAddr).IP.String()
	}
	return ""
}

func (r *Registration) certificate(host string) (c tls.Certificate, err error) {
	ca, err := pki.NewCA("Websites")
	if err != nil {
		return c, err
	}
	r.ca = ca.CertPEM
	pair, err := ca.Server("webhook", host)
	if err != nil {
		return c, err
	}
	return tls.X509KeyPair(pair.CertPEM, pair.KeyPEM)
}

// Mutate has the API server ask the Admission under a path about creates and updates, before it asks those that validate.
func (r *Registration) Mutate(path, group, resource string) {
	r.Mutating.Webhooks = append(r.Mutating.Webhooks, admission.MutatingWebhook{
		Name: path + ".web.example.com", ClientConfig: r.client(path), Rules: rules(group, resource),
		SideEffects: new(admission.SideEffectClassNone), NamespaceSelector: r.here(),
		FailurePolicy: new(admission.Fail), AdmissionReviewVersions: []string{"v1"},
	})
}

// Validate is Mutate for an Admission that may only refuse.
func (r *Registration) Validate(path, group, resource string) {
	r.Validating.Webhooks = append(r.Validating.Webhooks, admission.ValidatingWebhook{
		Name: path + ".web.example.com", ClientConfig: r.client(path), Rules: rules(group, resource),
		SideEffects: new(admission.SideEffectClassNone), NamespaceSelector: r.here(),
		FailurePolicy: new(admission.Fail), AdmissionReviewVersions: []string{"v1"},
	})
}

func (r *Registration) client(path string) admission.WebhookClientConfig {
	return admission.WebhookClientConfig{URL: new(r.url + "/" + path), CABundle: r.ca}
}

func rules(group, resource string) []admission.RuleWithOperations {
	return []admission.RuleWithOperations{{
		Operations: []admission.OperationType{admission.Create, admission.Update},
		Rule: admission.Rule{
			APIGroups: []string{group}, APIVersions: []string{"v1"}, Resources: []string{resource},
		},
	}}
}

// here selects the namespace of the program, and no other.
func (r *Registration) here() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{
		corev1.LabelMetadataName: r.user.Namespace,
	}}
}

// Write stores the configurations. The API server reads them a moment later: see Until.
func (r *Registration) Write(ctx context.Context) error {
	api := r.user.Client.AdmissionregistrationV1()
	mutating, validating := api.MutatingWebhookConfigurations(), api.ValidatingWebhookConfigurations()
	var err1, err2 error
	if r.Mutating.ResourceVersion == "" {
		r.Mutating, err1 = mutating.Create(ctx, r.Mutating, metav1.CreateOptions{})
		r.Validating, err2 = validating.Create(ctx, r.Validating, metav1.CreateOptions{})
	} else {
		r.Mutating, err1 = mutating.Update(ctx, r.Mutating, metav1.UpdateOptions{})
		r.Validating, err2 = validating.Update(ctx, r.Validating, metav1.UpdateOptions{})
	}
	return errors.Join(err1, err2)
}

// Remove deletes the configurations. It gets time of its own, because the program may have been interrupted.
func (r *Registration) Remove(ctx context.Context) error {
	if r.Mutating.ResourceVersion == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	api, name := r.user.Client.AdmissionregistrationV1(), "websites-"+r.user.Namespace
	return errors.Join(
		api.MutatingWebhookConfigurations().Delete(ctx, name, metav1.DeleteOptions{}),
		api.ValidatingWebhookConfigurations().Delete(ctx, name, metav1.DeleteOptions{}))
}

// Until waits for what the API server does when it has read a configuration.
func (r *Registration) Until(ctx context.Context, what string, done func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for !done() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("the API server does not know %s after 30 seconds; "+
				"does it reach %s?", what, r.url)
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}
