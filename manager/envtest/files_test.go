package envtest

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/manager/conversion"
)

func names(crds []*apiextensionsv1.CustomResourceDefinition) []string {
	var found []string
	for _, crd := range crds {
		found = append(found, crd.Name)
	}
	return found
}

func TestCRDsAreReadFromFilesAndDirectories(t *testing.T) {
	gadgets, widgets := "gadgets.envtest.loopwright.example", "widgets.envtest.loopwright.example"
	for _, c := range []struct {
		paths []string
		want  []string
	}{
		{[]string{"testdata/crds"}, []string{gadgets, widgets}},
		{[]string{"testdata/crds/widgets.yaml"}, []string{widgets}},
		{[]string{"testdata/crds/widgets.yaml", "testdata/crds"}, []string{widgets, gadgets}},
		{[]string{"testdata/none"}, nil},
	} {
		options := CRDInstallOptions{Paths: c.paths}
		require.NoError(t, ReadCRDFiles(&options))
		assert.Equal(t, c.want, names(options.CRDs))
		require.NoError(t, ReadCRDFiles(&options))
		assert.Equal(t, c.want, names(options.CRDs), "read again, a CRD is there twice")
	}
	assert.Error(t, ReadCRDFiles(&CRDInstallOptions{Paths: []string{"testdata/none"},
		ErrorIfPathMissing: true}))
}

func TestAFileThatCannotBeReadIsNamed(t *testing.T) {
	dir := t.TempDir()
	for content, says := range map[string]string{
		"a: [": "bad.yaml",
		"apiVersion: apiextensions.k8s.io/v1beta1\nkind: CustomResourceDefinition\n":             "want apiextensions.k8s.io/v1",
		"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec: [1]\n":       "reading the CustomResourceDefinition in",
		"apiVersion: admissionregistration.k8s.io/v1beta1\nkind: MutatingWebhookConfiguration\n": "want admissionregistration.k8s.io/v1",
	} {
		path := filepath.Join(dir, "bad.yaml")
		write(t, path, content)
		crds := ReadCRDFiles(&CRDInstallOptions{Paths: []string{dir}})
		if crds == nil {
			crds = (&WebhookInstallOptions{Paths: []string{dir}}).readWebhookFiles()
		}
		assert.ErrorContains(t, crds, says)
		assert.ErrorContains(t, crds, path)
	}
}

func TestWebhooksAreReadAndSentToTheLocalPort(t *testing.T) {
	url := "https://somewhere/else"
	given := &admissionv1.ValidatingWebhookConfiguration{Webhooks: []admissionv1.ValidatingWebhook{
		{ClientConfig: admissionv1.WebhookClientConfig{URL: &url, CABundle: []byte("theirs")}},
		{ClientConfig: admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{Name: "a"}}},
	}}
	given.Name = "given"
	o := &WebhookInstallOptions{
		Paths: []string{"testdata/webhooks"}, ValidatingWebhooks: []*admissionv1.ValidatingWebhookConfiguration{given},
		LocalServingPort: 8443, LocalServingHostExternalName: "host.example",
	}
	t.Setenv("TMPDIR", t.TempDir())
	require.NoError(t, o.PrepWithoutInstalling())
	require.Len(t, o.ValidatingWebhooks, 2)
	require.Len(t, o.MutatingWebhooks, 1)
	validate := o.ValidatingWebhooks[1].Webhooks[0].ClientConfig
	assert.Equal(t, "https://host.example:8443/validate-widget", *validate.URL)
	assert.Nil(t, validate.Service)
	assert.Equal(t, o.LocalServingCAData, validate.CABundle)
	assert.Equal(t, "https://host.example:8443/mutate-widget",
		*o.MutatingWebhooks[0].Webhooks[0].ClientConfig.URL)
	assert.Equal(t, "https://host.example:8443/", *given.Webhooks[1].ClientConfig.URL)
	assert.Equal(t, url, *given.Webhooks[0].ClientConfig.URL)
	assert.Equal(t, "theirs", string(given.Webhooks[0].ClientConfig.CABundle),
		"a webhook with an address and a CA of its own is not ours")

	dir := o.LocalServingCertDir
	assert.FileExists(t, filepath.Join(dir, "tls.key"))
	require.NoError(t, o.PrepWithoutInstalling())
	assert.Len(t, o.ValidatingWebhooks, 2, "read again, a configuration is there twice")
	assert.NoDirExists(t, dir, "the certificate of the time before is left")
	dir = o.LocalServingCertDir
	require.NoError(t, o.Cleanup())
	assert.NoDirExists(t, dir)
	assert.Error(t,
		(&WebhookInstallOptions{Paths: []string{"testdata/none"}}).PrepWithoutInstalling())

	mine := t.TempDir()
	require.NoError(t, (&WebhookInstallOptions{LocalServingCertDir: mine}).Cleanup())
	assert.DirExists(t, mine, "a user's own directory was removed")
}

// hub and spoke are two versions of one kind. Of another one, only the hub takes part. A Go type
// belongs to one kind.
type (
	hub      struct{ metav1.PartialObjectMetadata }
	spoke    struct{ metav1.PartialObjectMetadata }
	alone    struct{ spoke }
	halfHub  struct{ hub }
	halfRest struct{ metav1.PartialObjectMetadata }
)

func (*hub) Hub()                                  {}
func (h *hub) DeepCopyObject() runtime.Object      { return &hub{*h.DeepCopy()} }
func (s *spoke) DeepCopyObject() runtime.Object    { return &spoke{*s.DeepCopy()} }
func (*spoke) ConvertTo(conversion.Hub) error      { return nil }
func (*spoke) ConvertFrom(conversion.Hub) error    { return nil }
func (o *halfRest) DeepCopyObject() runtime.Object { return &halfRest{*o.DeepCopy()} }

func TestOnlyKindsThatTheSchemeCanConvertGetAConversionWebhook(t *testing.T) {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(schema.GroupVersionKind{Group: "g", Version: "v1",
		Kind: "Converted"}, &hub{})
	scheme.AddKnownTypeWithName(schema.GroupVersionKind{Group: "g", Version: "v2",
		Kind: "Converted"}, &spoke{})
	scheme.AddKnownTypeWithName(schema.GroupVersionKind{Group: "g", Version: "v1", Kind: "Plain"},
		&alone{})
	scheme.AddKnownTypeWithName(schema.GroupVersionKind{Group: "g", Version: "v1", Kind: "Half"},
		&halfHub{})
	scheme.AddKnownTypeWithName(schema.GroupVersionKind{Group: "g", Version: "v2", Kind: "Half"},
		&halfRest{})
	crd := func(kind string) *apiextensionsv1.CustomResourceDefinition {
		return &apiextensionsv1.CustomResourceDefinition{Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "g", Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: kind},
			Conversion: &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter},
		}}
	}
	serving := WebhookInstallOptions{LocalServingPort: 8443, LocalServingCAData: []byte("ca")}
	converted, plain, half, unknown := crd("Converted"), crd("Plain"), crd("Half"), crd("Unknown")
	all := []*apiextensionsv1.CustomResourceDefinition{converted, plain, half, unknown}
	require.NoError(t, directConversions(all, scheme, serving))
	assert.Equal(t, "https://127.0.0.1:8443/convert",
		*converted.Spec.Conversion.Webhook.ClientConfig.URL)
	assert.Equal(t, "ca", string(converted.Spec.Conversion.Webhook.ClientConfig.CABundle))
	for _, crd := range all[1:] {
		assert.Nil(t, crd.Spec.Conversion,
			"%s: the API server would call a webhook that the test does not serve",
			crd.Spec.Names.Kind)
	}

	serving.IgnoreSchemeConvertible = true
	require.NoError(t, directConversions(all, scheme, serving))
	assert.Equal(t, "https://127.0.0.1:8443/convert",
		*plain.Spec.Conversion.Webhook.ClientConfig.URL)

	untouched := crd("Plain")
	require.NoError(t, directConversions([]*apiextensionsv1.CustomResourceDefinition{untouched},
		scheme, WebhookInstallOptions{}))
	assert.NotNil(t, untouched.Spec.Conversion, "without a local server it is the user's business")
}

func TestPollEndsWithTheFirstSuccessOrTheLastError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, tries := time.Now(), 0
		assert.NoError(t, poll(t.Context(), time.Second, time.Minute, "waiting",
			func(context.Context) error {
				if tries++; tries < 3 {
					return errors.New("not yet")
				}
				return nil
			}))
		assert.Equal(t, 2*time.Second, time.Since(start))

		err := poll(t.Context(), time.Second, 10500*time.Millisecond, "waiting for it",
			func(context.Context) error {
				return errors.New("not yet")
			})
		assert.EqualError(t, err, "waiting for it: not within 10.5s: not yet")
		assert.Equal(t, 12500*time.Millisecond, time.Since(start))

		assert.Error(t, poll(t.Context(), time.Second, time.Minute, "waiting",
			func(ctx context.Context) error {
				<-ctx.Done() // a request that hangs
				return ctx.Err()
			}))
		assert.Equal(t, 72500*time.Millisecond, time.Since(start))
	})
}
