package cluster

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/pki"
)

// pointAt makes a kubeconfig the current one.
func pointAt(t *testing.T, path string) {
	t.Helper()
	t.Setenv("KUBECONFIG", path)
}

// deadEnd is a kubeconfig whose server does not answer.
func deadEnd(t *testing.T) (path string) {
	t.Helper()
	ca, err := pki.NewCA("nobody")
	require.NoError(t, err)
	user, err := ca.Client(clients["admin"])
	require.NoError(t, err)
	path = filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, writeKubeconfig(path, "https://127.0.0.1:9", ca.CertPEM, user))
	return path
}

func TestTheCurrentClusterIsShownAndUsedOnlyAfterAYes(t *testing.T) {
	for answer, used := range map[string]bool{"y\n": true, "YES\n": true, "yes": true, "n\n": false, "\n": false, "": false, "yikes\n": false} {
		t.Run(strings.TrimSpace("answer "+answer), func(t *testing.T) {
			pointAt(t, deadEnd(t))
			var printed bytes.Buffer
			_, err := Up(t.Context(), Options{Mode: Current, In: strings.NewReader(answer), Out: &printed})
			require.Error(t, err)
			assert.Contains(t, printed.String(), `CLUSTER=current is the context "loopwright", server https://127.0.0.1:9, from `)
			assert.Equal(t, 1, strings.Count(printed.String(), "Use it? [y/N]"))
			if used {
				assert.ErrorContains(t, err, `asking https://127.0.0.1:9 of context "loopwright"`)
			} else {
				assert.EqualError(t, err, "CLUSTER=current: not used: answer y, or set YES=1 to agree beforehand")
			}
		})
	}
}

func TestTheCurrentClusterIsRefusedWhereNobodyCanAnswer(t *testing.T) {
	pointAt(t, deadEnd(t))
	_, err := Up(t.Context(), Options{Mode: Current})
	assert.ErrorContains(t, err, "set YES=1 to agree beforehand")
}

func TestTheCurrentClusterIsUsedWithoutAQuestionIfAgreedBeforehand(t *testing.T) {
	embedded := shared(t)
	pointAt(t, embedded.Kubeconfig)
	var printed bytes.Buffer
	up, err := Up(t.Context(), Options{Mode: Current, Yes: true, Out: &printed})
	require.NoError(t, err)
	assert.NotContains(t, printed.String(), "Use it?")
	assert.Contains(t, printed.String(), "server "+embedded.RESTConfig().Host)
	assert.Equal(t, embedded.Kubeconfig, up.Kubeconfig)
	status, err := Inspect(t.Context(), Options{Mode: Current})
	require.NoError(t, err)
	assert.True(t, status.Running)
	assert.Equal(t, defaultNodes, status.ReadyNodes)
}

func TestAKubeconfigWithoutACurrentContextIsReportedWithWhatToDo(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	for _, path := range []string{empty, filepath.Join(t.TempDir(), "missing")} {
		pointAt(t, path)
		_, err := Up(t.Context(), Options{Mode: Current, Yes: true})
		assert.EqualError(t, err, "CLUSTER=current: no current context in "+path+": choose one with `kubectl config use-context`, or set KUBECONFIG")
	}
}

func TestAKubeconfigThatIsGarbageIsReportedByName(t *testing.T) {
	path := filepath.Join(t.TempDir(), "garbage")
	require.NoError(t, os.WriteFile(path, []byte("{{{ no YAML"), 0o600))
	pointAt(t, path)
	_, err := Up(t.Context(), Options{Mode: Current, Yes: true})
	require.ErrorContains(t, err, "isn't a kubeconfig that kubectl would use: set KUBECONFIG")
	assert.ErrorContains(t, err, path)
}

func TestTheCommandRefusesTheCurrentClusterOnEmptyInput(t *testing.T) {
	needsCluster(t)
	printed, err := call{env: []string{"CLUSTER=current", "KUBECONFIG=" + deadEnd(t)}}.run(t, "up")
	require.Error(t, err)
	assert.Contains(t, printed, "set YES=1 to agree beforehand")
}
