package devca_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/loopwright/loopwright/cluster/clustertest"
	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/builder"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/conversion"
	metricsserver "github.com/loopwright/loopwright/manager/metrics/server"
	"github.com/loopwright/loopwright/manager/webhook"
	"github.com/loopwright/loopwright/manager/webhook/admission"
	"github.com/loopwright/loopwright/manager/webhook/devca"
)

func TestMain(m *testing.M) { os.Exit(clustertest.Run(m)) }

// A plum has two versions: v1 has one field, and v2, the hub, which is stored, two.

type plum struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Look              string `json:"look,omitempty"`
	Colour            string `json:"colour,omitempty"`
	Grams             int    `json:"grams,omitempty"`
}

func (p *plum) copied() plum {
	c := *p
	p.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	return c
}

type plumV1 struct{ plum }

func (p *plumV1) DeepCopyObject() runtime.Object { return &plumV1{p.copied()} }

func (p *plumV1) ConvertTo(hub conversion.Hub) error {
	to := hub.(*plumV2)
	to.ObjectMeta = p.ObjectMeta
	if p.Look == "" {
		return nil
	}
	_, err := fmt.Sscanf(p.Look, "%s %d", &to.Colour, &to.Grams)
	return err
}

func (p *plumV1) ConvertFrom(hub conversion.Hub) error {
	from := hub.(*plumV2)
	p.ObjectMeta = from.ObjectMeta
	p.Look = fmt.Sprintf("%s %d", from.Colour, from.Grams)
	return nil
}

type plumV2 struct{ plum }

func (p *plumV2) DeepCopyObject() runtime.Object { return &plumV2{p.copied()} }
func (*plumV2) Hub()                             {}

// rules are the shop's: a plum is blue if nobody says otherwise, and never pink.
type rules struct{}

func (rules) Default(_ context.Context, p *plumV2) error {
	if p.Colour == "" {
		p.Colour = "blue"
	}
	return nil
}

func (rules) ValidateCreate(_ context.Context, p *plumV2) (admission.Warnings, error) {
	if p.Colour == "pink" {
		return nil, errors.New("plums are not pink")
	}
	return nil, nil
}

func (r rules) ValidateUpdate(ctx context.Context, _, p *plumV2) (admission.Warnings, error) {
	return r.ValidateCreate(ctx, p)
}

func (rules) ValidateDelete(_ context.Context, p *plumV2) (admission.Warnings, error) {
	if p.Grams > 100 {
		return nil, apierrors.NewConflict(schema.GroupResource{Resource: "plums"}, p.Name,
			errors.New("too good to be thrown away"))
	}
	return nil, nil
}

const group = "plums.example"

func plums() *runtime.Scheme {
	scheme := runtime.NewScheme()
	_ = clientgoscheme.AddToScheme(scheme)
	_ = apiextensionsv1.AddToScheme(scheme)
	for version, object := range map[string]runtime.Object{"v1": &plumV1{}, "v2": &plumV2{}} {
		scheme.AddKnownTypeWithName(schema.GroupVersionKind{Group: group, Version: version,
			Kind: "Plum"}, object)
	}
	return scheme
}

// orchard is a real API server with a manager's webhooks.
type orchard struct {
	*testing.T
	client.Client
	ca      *devca.CA
	server  webhook.Server
	address string
}

// inOrchard runs a manager with the webhooks of plums, and those that more adds.
func inOrchard(t *testing.T, options devca.Options, more func(webhook.Server)) *orchard {
	t.Helper()
	config := clustertest.Config(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	options.Hosts = []string{"127.0.0.1"}
	ca, err := devca.New(config, options)
	require.NoError(t, err)
	server := ca.NewServer(webhook.Options{Listener: listener})
	mgr, err := manager.New(config, manager.Options{
		Scheme: plums(), Logger: logr.Discard(), WebhookServer: server, Metrics: metricsserver.Options{BindAddress: "0"},
	})
	require.NoError(t, err)
	require.NoError(t, builder.WebhookManagedBy(mgr,
		&plumV2{}).WithDefaulter(rules{}).WithValidator(rules{}).Complete())
	if more != nil {
		more(mgr.GetWebhookServer())
	}
	c, err := client.New(config, client.Options{Scheme: plums()})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ended)
	})
	return &orchard{T: t, Client: c, ca: ca, server: server,
		address: "https://" + listener.Addr().String()}
}

// eventually waits for the API server, which reads new configurations when it gets to it.
func (o *orchard) eventually(what string, check func() error) {
	o.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			o.Fatalf("%s: %v", what, err)
		}
	}
}

// hooks is a configuration entry that calls a path for a resource.
func (o *orchard) hooks(
	name, path string, rule admissionregistrationv1.Rule,
	operations ...admissionregistrationv1.OperationType,
) admissionregistrationv1.ValidatingWebhook {
	return admissionregistrationv1.ValidatingWebhook{
		Name: name + ".plums.example",
		ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: new(o.address +
			path)},
		Rules:                   []admissionregistrationv1.RuleWithOperations{{Operations: operations, Rule: rule}},
		SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
		AdmissionReviewVersions: []string{"v1"},
		TimeoutSeconds:          new(int32(30)),
	}
}

func (o *orchard) create(object client.Object) {
	o.Helper()
	require.NoError(o, o.Create(o.Context(), object))
	o.Cleanup(func() { _ = o.Delete(context.Background(), object) })
}

func (o *orchard) definition() *apiextensionsv1.CustomResourceDefinition {
	version := func(name string, storage bool) apiextensionsv1.CustomResourceDefinitionVersion {
		return apiextensionsv1.CustomResourceDefinitionVersion{Name: name, Served: true,
			Storage: storage,
			Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
				Type: "object", XPreserveUnknownFields: new(true)}}}
	}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "plums." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "plums", Kind: "Plum"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{version("v1", false),
				version("v2", true)},
			Conversion: &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter,
				Webhook: &apiextensionsv1.WebhookConversion{
					ClientConfig:             &apiextensionsv1.WebhookClientConfig{URL: new(o.address + "/convert")},
					ConversionReviewVersions: []string{"v1"}}},
		},
	}
}

// The whole of it: a real API server calls a mutating, a validating and a conversion webhook over
// TLS, with a certificate that nobody has made by hand.
func TestTheRealAPIServerCallsTheWebhooks(t *testing.T) {
	o := inOrchard(t, devca.Options{
		MutatingWebhookConfigurations: []string{"plums"}, ValidatingWebhookConfigurations: []string{"plums"},
		CustomResourceDefinitions: []string{"plums." + group},
	}, nil)
	o.create(o.definition())
	rule := admissionregistrationv1.Rule{APIGroups: []string{group}, APIVersions: []string{"v2"},
		Resources: []string{"plums"}}
	validating := o.hooks("validate", "/validate-plums-example-v2-plum", rule, "CREATE", "UPDATE",
		"DELETE")
	entry := o.hooks("mutate", "/mutate-plums-example-v2-plum", rule, "CREATE", "UPDATE")
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "plums"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{validating}}
	o.create(configuration.DeepCopy())
	o.create(&admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "plums"},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{Name: entry.Name,
			ClientConfig: entry.ClientConfig, Rules: entry.Rules,
			SideEffects: entry.SideEffects, AdmissionReviewVersions: entry.AdmissionReviewVersions, TimeoutSeconds: entry.TimeoutSeconds}}})
	o.eventually("the server runs, and the CA is announced", func() error {
		return o.server.StartedChecker()(nil)
	})

	plumV1Of := func(name, look string) *plumV1 {
		return &plumV1{plum{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
			Look: look}}
	}
	// The rules name v2 only: a v1 object goes through /convert on its way to the other webhooks,
	// and back.
	o.eventually("a plum gets its colour", func() error {
		tried := plumV1Of("tried", "")
		if err := o.Create(o.Context(), tried, client.DryRunAll); err != nil {
			return err
		}
		if tried.Look != "blue 0" {
			return fmt.Errorf("it looks %q", tried.Look)
		}
		return nil
	})
	o.eventually("pink is refused", func() error {
		err := o.Create(o.Context(), plumV1Of("pink", "pink 20"), client.DryRunAll)
		if err == nil || !apierrors.IsForbidden(err) {
			return fmt.Errorf("the answer is: %w", err)
		}
		require.ErrorContains(t, err,
			`admission webhook "validate.plums.example" denied the request: plums are not pink`)
		return nil
	})

	stored := &plumV2{plum{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "good",
		Labels: map[string]string{"kept": "yes"}}, Grams: 120}}
	require.NoError(t, o.Create(t.Context(), stored))
	var read plumV1
	require.NoError(t, o.Get(t.Context(), client.ObjectKeyFromObject(stored), &read))
	require.Equal(t, "blue 120", read.Look)
	require.Equal(t, stored.Labels, read.Labels)
	read.Look = "pink 120"
	require.ErrorContains(t, o.Update(t.Context(), &read), "plums are not pink")
	err := o.Delete(t.Context(), stored)
	require.True(t, apierrors.IsConflict(err), "a status of the webhook's reaches the user: %v",
		err)
	require.ErrorContains(t, err, "too good to be thrown away")

	// Somebody applies the configuration as it is in the repository, without a bundle.
	var existing admissionregistrationv1.ValidatingWebhookConfiguration
	require.NoError(t, o.Get(t.Context(), client.ObjectKey{Name: "plums"}, &existing))
	configuration.ResourceVersion = existing.ResourceVersion
	require.NoError(t, o.Update(t.Context(), configuration))
	o.eventually("the bundle is back", func() error {
		if err := o.Get(t.Context(), client.ObjectKey{Name: "plums"}, &existing); err != nil {
			return err
		}
		if string(existing.Webhooks[0].ClientConfig.CABundle) != string(o.ca.Bundle()) {
			return errors.New("the configuration has another bundle")
		}
		return nil
	})
	o.eventually("the plum can be deleted", func() error {
		stored.Grams = 10
		if err := o.Update(t.Context(), stored); err != nil {
			return err
		}
		return o.Delete(t.Context(), stored)
	})
}

// What goes wrong in a webhook must be in the message that the user reads. "expected response.uid"
// is not.
func TestTheRealAPIServerReportsWhatWentWrong(t *testing.T) {
	const configuration = "plums-trouble"
	late := make(chan error, 1000)
	o := inOrchard(t, devca.Options{ValidatingWebhookConfigurations: []string{configuration}},
		func(server webhook.Server) {
			trouble := &admission.Webhook{Handler: admission.HandlerFunc(func(
				context.Context, admission.Request,
			) admission.Response {
				panic("slipped")
			})}
			server.Register("/panics", trouble)
			server.Register("/type", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				r.Header.Set("Content-Type", "text/plain")
				trouble.ServeHTTP(w, r)
			}))
			server.Register("/hangs",
				&admission.Webhook{Handler: admission.HandlerFunc(func(
					ctx context.Context, _ admission.Request,
				) admission.Response {
					_, limited := ctx.Deadline()
					<-ctx.Done()
					if !limited {
						late <- errors.New("the context has no deadline")
					}
					late <- nil
					return admission.Errored(http.StatusGatewayTimeout, ctx.Err())
				})})
		})
	entries := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: configuration}}
	for _, name := range []string{"panics", "type", "hangs"} {
		entry := o.hooks(name, "/"+name,
			admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"},
				Resources: []string{"configmaps"}}, "CREATE")
		entry.ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"trouble": name}}
		if name == "hangs" {
			entry.TimeoutSeconds = new(int32(1))
		}
		entries.Webhooks = append(entries.Webhooks, entry)
	}
	o.create(entries)
	for name, want := range map[string]string{
		"panics": `admission webhook "panics.plums.example" denied the request: panic: slipped [recovered]`,
		"type":   `admission webhook "type.plums.example" denied the request: contentType=text/plain, expected application/json`,
		"hangs":  `failed calling webhook "hangs.plums.example"`,
	} {
		o.eventually(name, func() error {
			object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default",
				GenerateName: "trouble-", Labels: map[string]string{"trouble": name}}}
			err := o.Create(o.Context(), object, client.DryRunAll)
			if name == "hangs" && err != nil && len(late) == 0 {
				return fmt.Errorf("not called yet: %w", err)
			}
			if err == nil {
				return errors.New("it was allowed")
			}
			if !strings.Contains(err.Error(), want) {
				return err
			}
			return nil
		})
	}
	require.NoError(t, <-late)
}
