package scaffold

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// edited is what `kustomize edit set image`, a command of the project's README, makes of the file.
const edited = `# kubectl apply -k config
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
- crd/shop.example.com_shops.yaml
- rbac/role.yaml
- rbac/binding.yaml
- manager/namespace.yaml
- manager/manager.yaml
images:
- name: shop
  newName: registry.example.com/shop
  newTag: v1
# The name of the ConfigMap has a hash of the file, so that a change of the settings restarts the manager.
configMapGenerator:
- files:
  - manager/settings.yaml
  name: shop-settings
  namespace: shop-system
`

// Whoever has set an image would find out in the cluster that the second kind has no CRD there.
func TestAKindIsAddedToAKustomizationThatWasChanged(t *testing.T) {
	options := shop(t.TempDir())
	written(t, options)
	name := filepath.Join(options.Dir, kustomizationFile)
	require.NoError(t, os.WriteFile(name, []byte(edited), 0o600))
	var said strings.Builder
	require.NoError(t, AddKind(options.Dir, "Order", &said))
	assert.Equal(t, strings.Replace(edited, "_shops.yaml\n", "_shops.yaml\n- crd/shop.example.com_orders.yaml\n", 1),
		filesOf(t, options.Dir)[kustomizationFile], "one line more, and the rest as it was")
	assert.Equal(t, "Wrote 4 files for the kind Order.\n", said.String())
}

func TestTheLineOfACRDIsWrittenAsTheOthersAre(t *testing.T) {
	for before, after := range map[string]string{
		"resources:\n  - crd/a.yaml\n  - rbac/role.yaml\n": "resources:\n  - crd/a.yaml\n  - crd/b.yaml\n  - rbac/role.yaml\n",
		"# crd/a.yaml\n\nresources:\n- \"crd/a.yaml\" # the first\n\n# the rest\n- x": "# crd/a.yaml\n\nresources:\n- " +
			"\"crd/a.yaml\" # the first\n- crd/b.yaml\n\n# the rest\n- x",
		"resources:\r\n- crd/a.yaml\r\nimages: []\r\n": "resources:\r\n- crd/a.yaml\r\n- crd/b.yaml\r\nimages: []\r\n",
		"images: []\nresources:\n- x\n- crd/a.yaml":    "images: []\nresources:\n- x\n- crd/a.yaml\n- crd/b.yaml",
		"resources:\n- crd/b.yaml\n- crd/a.yaml\n":     "resources:\n- crd/b.yaml\n- crd/a.yaml\n", // added by hand before
	} {
		got, ok := addCRD(before, "crd/b.yaml")
		assert.True(t, ok, before)
		assert.Equal(t, after, got)
	}
}

// A wrong line would be found when the cluster refuses the manifests, or not at all.
func TestAListWithoutAPlaceForALineIsLeftAndTheLineIsSaid(t *testing.T) {
	for name, text := range map[string]string{
		"no file":             "",
		"a list in one line":  "resources: [crd/a.yaml, rbac/role.yaml]\n",
		"a list in brackets":  "resources: [\n  crd/a.yaml,\n  rbac/role.yaml,\n]\n",
		"a folder of CRDs":    "resources:\n- crd\n- rbac/role.yaml\n",
		"no list":             "resources: crd/a.yaml\n",
		"not YAML":            "resources:\n- crd/a.yaml\n  }\n",
		"one list for two":    "x: &x\n- crd/a.yaml\nresources: *x\n",
		"other line breaks":   "resources:\r- crd/a.yaml\r",
		"a break in a remark": "# \u2028\u2028\nresources:\n- crd/a.yaml\n- x\n",
		"a text of two lines": "resources:\n- crd/a.yaml\n  .old\n",
	} {
		_, ok := addCRD(text, "crd/b.yaml")
		assert.False(t, ok, name)
	}
	options := shop(t.TempDir())
	written(t, options)
	name := filepath.Join(options.Dir, kustomizationFile)
	require.NoError(t, os.WriteFile(name, []byte("resources: [crd]\n"), 0o600))
	var said strings.Builder
	require.NoError(t, AddKind(options.Dir, "Order", &said))
	assert.Contains(t, said.String(), "Add to its resources:\n- crd/shop.example.com_orders.yaml\n")
	assert.Equal(t, "resources: [crd]\n", filesOf(t, options.Dir)[kustomizationFile])
}
