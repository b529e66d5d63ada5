package envtest

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
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
	assert.Error(t, ReadCRDFiles(&CRDInstallOptions{Paths: []string{"testdata/none"}, ErrorIfPathMissing: true}))
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
	assert.Equal(t, "https://host.example:8443/mutate-widget", *o.MutatingWebhooks[0].Webhooks[0].ClientConfig.URL)
	assert.Equal(t, "https://host.example:8443/", *given.Webhooks[1].ClientConfig.URL)
	assert.Equal(t, url, *given.Webhooks[0].ClientConfig.URL)
	assert.Equal(t, "theirs", string(given.Webhooks[0].ClientConfig.CABundle), "a webhook with an address and a CA of its own is not ours")

	dir := o.LocalServingCertDir
	assert.FileExists(t, filepath.Join(dir, "tls.key"))
	require.NoError(t, o.PrepWithoutInstalling())
	assert.Len(t, o.ValidatingWebhooks, 2, "read again, a configuration is there twice")
	assert.NoDirExists(t, dir, "the certificate of the time before is left")
	dir = o.LocalServingCertDir
	require.NoError(t, o.Cleanup())
	assert.NoDirExists(t, dir)
	assert.Error(t, (&WebhookInstallOptions{Paths: []string{"testdata/none"}}).PrepWithoutInstalling())

	mine := t.TempDir()
	require.NoError(t, (&WebhookInstallOptions{LocalServingCertDir: mine}).Cleanup())
	assert.DirExists(t, mine, "a user's own directory was removed")
}
