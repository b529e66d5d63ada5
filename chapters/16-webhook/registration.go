package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	admission "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/chapters/16-webhook/typo"
	"github.com/loopwright/loopwright/cluster"
	"github.com/loopwright/loopwright/internal/pki"
	"github.com/loopwright/loopwright/mini"
)

// registration tells the API server where the webhook is, and what to ask it.
type registration struct {
	*typo.User
	url string // of the webhook, as the API server calls it
	ca  []byte // signed its certificate

	mutating   *admission.MutatingWebhookConfiguration
	validating *admission.ValidatingWebhookConfiguration
}

// listen returns the webhook, which has an address and a certificate.
func (r *registration) listen(u *typo.User) (*mini.Webhook, error) {
	r.User = u
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
	w := newWebhook()
	w.Listener = tls.NewListener(listener, &tls.Config{
		Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS13,
	})
	return w, nil
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

func (r *registration) certificate(host string) (c tls.Certificate, err error) {
	ca, err := pki.NewCA("chapter 16")
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

// register stores the configurations, and waits until the API server has read them.
func (r *registration) register(ctx context.Context) (err error) {
	meta := metav1.ObjectMeta{Name: "websites-" + r.Namespace}
	r.mutating = &admission.MutatingWebhookConfiguration{
		ObjectMeta: meta,
		Webhooks: []admission.MutatingWebhook{{
			Name: "default.web.example.com", ClientConfig: r.client("/default"),
			Rules:       rules("web.example.com", "websites"),
			SideEffects: new(admission.SideEffectClassNone), NamespaceSelector: r.here(),
			FailurePolicy: new(admission.Fail), AdmissionReviewVersions: []string{"v1"},
		}},
	}
	r.validating = &admission.ValidatingWebhookConfiguration{
		ObjectMeta: meta,
		Webhooks: []admission.ValidatingWebhook{
			r.validator("limit", "web.example.com", "websites"),
			r.validator("deployments", "apps", "deployments"),
		},
	}
	api := r.Client.AdmissionregistrationV1()
	var err1, err2 error
	r.mutating, err1 = api.MutatingWebhookConfigurations().Create(
		ctx, r.mutating, metav1.CreateOptions{})
	r.validating, err2 = api.ValidatingWebhookConfigurations().Create(
		ctx, r.validating, metav1.CreateOptions{})
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	return errors.Join(
		r.until(ctx, "the default", func() bool {
			answer, err := r.dryRun(ctx, "")
			return err == nil && strings.Contains(answer, `"replicas":1`)
		}),
		r.until(ctx, "the limit", func() bool {
			answer, err := r.dryRun(ctx, `"replicas":30,`)
			return err != nil && strings.Contains(answer, "at most")
		}))
}

func (r *registration) validator(path, group, resource string) admission.ValidatingWebhook {
	return admission.ValidatingWebhook{
		Name: path + ".web.example.com", ClientConfig: r.client("/" + path),
		Rules:       rules(group, resource),
		SideEffects: new(admission.SideEffectClassNone), NamespaceSelector: r.here(),
		FailurePolicy: new(admission.Fail), AdmissionReviewVersions: []string{"v1"},
	}
}

func (r *registration) client(path string) admission.WebhookClientConfig {
	return admission.WebhookClientConfig{URL: new(r.url + path), CABundle: r.ca}
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
func (r *registration) here() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{
		corev1.LabelMetadataName: r.Namespace,
	}}
}

// deploy creates the Deployment web.
func (r *registration) deploy(ctx context.Context) error {
	labels := map[string]string{"app": "web"}
	_, err := r.Client.AppsV1().Deployments(r.Namespace).Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					Containers: []corev1.Container{{Name: "c", Image: r.Image}},
				},
			},
		},
	}, metav1.CreateOptions{})
	return err
}

// scale is what kubectl scale does: it writes the subresource scale of the Deployment web.
func (r *registration) scale(ctx context.Context, replicas int32, dryRun ...string) error {
	to := &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: "web"},
		Spec:       autoscalingv1.ScaleSpec{Replicas: replicas},
	}
	_, err := r.Client.AppsV1().Deployments(r.Namespace).UpdateScale(
		ctx, "web", to, metav1.UpdateOptions{DryRun: dryRun})
	return err
}

// coverScales adds the subresource to what is validated.
func (r *registration) coverScales(ctx context.Context) error {
	r.validating.Webhooks = append(r.validating.Webhooks,
		r.validator("scales", "apps", "deployments/scale"))
	if err := r.update(ctx); err != nil {
		return err
	}
	return r.until(ctx, "the limit of scales", func() bool {
		return r.scale(ctx, 30, metav1.DryRunAll) != nil
	})
}

// ignoreFailures makes the API server store what it could not ask about.
func (r *registration) ignoreFailures(ctx context.Context) error {
	r.mutating.Webhooks[0].FailurePolicy = new(admission.Ignore)
	for i := range r.validating.Webhooks {
		r.validating.Webhooks[i].FailurePolicy = new(admission.Ignore)
	}
	if err := r.update(ctx); err != nil {
		return err
	}
	return r.until(ctx, "the failure policy", func() bool {
		_, err := r.dryRun(ctx, "")
		return err == nil
	})
}

func (r *registration) update(ctx context.Context) error {
	api := r.Client.AdmissionregistrationV1()
	var err1, err2 error
	r.mutating, err1 = api.MutatingWebhookConfigurations().Update(
		ctx, r.mutating, metav1.UpdateOptions{})
	r.validating, err2 = api.ValidatingWebhookConfigurations().Update(
		ctx, r.validating, metav1.UpdateOptions{})
	return errors.Join(err1, err2)
}

// remove gets time of its own, because the program may have been interrupted.
func (r *registration) remove(ctx context.Context) error {
	if r.mutating == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	api, name := r.Client.AdmissionregistrationV1(), "websites-"+r.Namespace
	return errors.Join(
		api.MutatingWebhookConfigurations().Delete(ctx, name, metav1.DeleteOptions{}),
		api.ValidatingWebhookConfigurations().Delete(ctx, name, metav1.DeleteOptions{}))
}

// dryRun asks what the API server would store or answer, and stores nothing.
func (r *registration) dryRun(ctx context.Context, replicas string) (string, error) {
	answer, err := r.Client.CoreV1().RESTClient().Post().
		AbsPath("/apis/web.example.com/v1/namespaces", r.Namespace, "websites").
		Param("dryRun", metav1.DryRunAll).
		Body([]byte(`{"apiVersion":"web.example.com/v1","kind":"Website",`+
			`"metadata":{"name":"probe"},"spec":{`+replicas+`"page":"home"}}`)).
		SetHeader("Content-Type", "application/json").
		DoRaw(ctx)
	return string(answer), err
}

// until waits for what the API server does when it has read a configuration.
func (r *registration) until(ctx context.Context, what string, done func() bool) error {
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
