package scaffold

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/pki"
)

// manager is the user as whom the manager runs in a cluster.
const manager = "system:serviceaccount:shop-system:shop-manager"

// mayDoWhatItNeeds asks the API server what the manager may do with ConfigMaps in a cluster. A manager that may delete
// those of everybody is one that a careful team does not install.
func (m *made) mayDoWhatItNeeds() {
	m.says("apply", "-f", "config/manager/namespace.yaml", "-f", "config/rbac")
	may := func(verb, namespace string) string { // "no" is an exit code, too
		answer, _ := m.kubectl("auth", "can-i", verb, "configmaps", "--namespace", namespace, "--as", manager).Output()
		return strings.TrimSpace(string(answer))
	}
	granted := func() bool {
		return may("update", "default") == "yes" && may("delete", "shop-system") == "yes"
	}
	m.eventually(granted, "it may not do its work")
	assert.Equal(m, "no", may("delete", "default"), "it may delete ConfigMaps outside of the catalog")
	for _, namespace := range []string{"default", "shop-system"} {
		assert.Equal(m, "no", may("deletecollection", namespace), "it needs no right to delete many at once in %s", namespace)
	}
}

// mayWriteItsOwnOnly tries what a manager that somebody has taken over would try: change what everybody relies on.
func (m *made) mayWriteItsOwnOnly(uid string) {
	const refusal = "may write only ConfigMaps that an object of shop.example.com controls"
	owned := func(apiVersion, controller string) string {
		return "ownerReferences: [{apiVersion: " + apiVersion + ", kind: Shop, name: first, uid: " + uid + ", controller: " + controller + "}]"
	}
	ours, none := owned("shop.example.com/v1", "true"), "labels: {}"
	write := func(verb, namespace, name, owner string) string {
		config := "apiVersion: v1\nkind: ConfigMap\nmetadata: {namespace: " + namespace + ", name: " + name + ", " + owner + "}\n"
		output, _ := m.kubectlReads(config, verb, "--as", manager) // a refusal is an exit code, too
		return output
	}
	tries := 0
	refused := func() bool { // a policy takes a moment until it has effect
		tries++
		return strings.Contains(write("create", "kube-system", "try-"+strconv.Itoa(tries), none), refusal)
	}
	m.eventually(refused, "the manager may create any ConfigMap in kube-system")

	m.says("create", "configmap", "aws-auth", "--namespace", "kube-system")
	m.says("create", "configmap", "theirs", "--namespace", "default")
	for _, owner := range []string{none, owned("apps/v1", "true"), owned("shop.example.com.evil/v1", "true"), owned("shop.example.com/v1", "false")} {
		assert.Contains(m, write("replace", "kube-system", "aws-auth", owner), refusal, owner)
		assert.Contains(m, write("create", "default", "another", owner), refusal, owner)
	}
	for namespace, name := range map[string]string{"kube-system": "aws-auth", "default": "theirs"} {
		assert.Contains(m, write("replace", namespace, name, ours), refusal, "it claims to own what it did not make")
	}
	m.says("create", "--as", manager, "configmap", "entry", "--namespace", "shop-system")
	assert.Contains(m, write("replace", "shop-system", "entry", none), "replaced")
	assert.Contains(m, write("create", "default", "ours", ours), "created")
	assert.Contains(m, write("replace", "default", "ours", none), refusal, "it gives away what is its own")
}

// hasEnoughRights runs the manager with the settings and the rights that it has in a cluster.
func (m *made) hasEnoughRights(options Options, objects []string) {
	m.does("make", "build")
	if taken := m.runsAsInACluster(options, objects); taken {
		assert.False(m, m.runsAsInACluster(options, objects), "the addresses are taken twice")
	}
}

// runsAsInACluster says whether somebody else took an address first, which was free a moment before.
func (m *made) runsAsInACluster(options Options, objects []string) (taken bool) {
	settings, err := os.ReadFile(filepath.Join(m.dir, "config", "manager", "settings.yaml"))
	require.NoError(m, err)
	port := func() string {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(m, err)
		defer func() { assert.NoError(m, listener.Close()) }()
		_, port, err := net.SplitHostPort(listener.Addr().String())
		require.NoError(m, err)
		return port
	}
	address := "127.0.0.1:" + port()
	metrics := "https://" + address + "/metrics"
	dir := m.TempDir()
	here := strings.NewReplacer(":8443", address, ":8081", `"0"`, "9443", port(), "/certificate", dir,
		"leaderElection: true", "leaderElection: false", // which a Pod has to do
	).Replace(string(settings))
	require.NoError(m, os.WriteFile(filepath.Join(dir, "settings.yaml"), []byte(here), 0o600))
	ca, err := pki.NewCA("test")
	require.NoError(m, err)
	server, err := ca.Server("webhooks", "127.0.0.1")
	require.NoError(m, err)
	require.NoError(m, os.WriteFile(filepath.Join(dir, "tls.crt"), server.CertPEM, 0o600))
	require.NoError(m, os.WriteFile(filepath.Join(dir, "tls.key"), server.KeyPEM, 0o600))
	config := filepath.Join(dir, "kubeconfig")
	asManager := strings.Replace(m.says("config", "view", "--raw", "--flatten"), "  user:\n", "  user:\n    as: "+manager+"\n", 1)
	require.Contains(m, asManager, manager)
	require.NoError(m, os.WriteFile(config, []byte(asManager), 0o600))
	run := m.command(context.Background(), filepath.Join(m.dir, "bin", "manager"), "--config="+filepath.Join(dir, "settings.yaml"))
	run.Env = append(run.Env, "KUBECONFIG="+config)
	serves := false
	said := m.while(run, func() {
		if serves = m.serves(metrics); !serves {
			return
		}
		m.says("apply", "-f", "config/samples")
		for i, object := range objects {
			m.becomesReady(object)
			entry := []string{strings.ToLower(options.Kind), "order"}[i] + ".default.first"
			m.says("get", "configmap", entry, "--namespace", "shop-system")
			m.says("delete", "--timeout=5m", object)
			output, err := m.kubectl("get", "configmap", entry, "--namespace", "shop-system").CombinedOutput()
			assert.Error(m, err, "the entry is still there: %s", output)
		}
		wrongToken := http.StatusUnauthorized
		if options.ControllerRuntime {
			wrongToken = http.StatusInternalServerError // its filter does not tell a wrong token from a failed review
		}
		m.showsItsMetricsToWhoMaySeeThem(metrics, wrongToken)
	})
	taken = !serves && strings.Contains(said, "address already in use")
	require.True(m, serves || taken, said)
	return taken
}

// serves waits until the metrics are there, for those who may see them, or the program has ended.
func (m *made) serves(metrics string) bool {
	for limit := time.After(hangLimit); ; {
		if status, _, err := m.get(metrics, ""); err == nil && status == http.StatusUnauthorized {
			return true
		}
		select {
		case <-m.ended:
			return false
		case <-limit:
			return false
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// showsItsMetricsToWhoMaySeeThem reads the metrics as a stranger, as somebody without the role, and as the README does.
func (m *made) showsItsMetricsToWhoMaySeeThem(url string, wrongToken int) {
	m.says("create", "serviceaccount", "stranger")
	m.says("create", "serviceaccount", "scraper")
	m.says("create", "clusterrolebinding", "shop-scraper", "--clusterrole=shop-metrics-reader", "--serviceaccount=default:scraper")
	m.eventually(func() bool {
		answer, _ := m.kubectl("auth", "can-i", "get", "/metrics", "--as", "system:serviceaccount:default:scraper").Output()
		return strings.TrimSpace(string(answer)) == "yes"
	}, "the scraper has not got its role")
	for token, want := range map[string]int{
		"":      http.StatusUnauthorized,
		"wrong": wrongToken,
		strings.TrimSpace(m.says("create", "token", "stranger")): http.StatusForbidden,
		strings.TrimSpace(m.says("create", "token", "scraper")):  http.StatusOK,
	} {
		got, text, err := m.get(url, token)
		require.NoError(m, err)
		assert.Equal(m, want, got, text)
		assert.Equal(m, want == http.StatusOK, strings.Contains(text, "controller_runtime_reconcile_total"), text)
	}
}

// get reads a URL as curl --insecure does.
func (m *made) get(url, token string) (status int, text string, err error) {
	insecure := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer insecure.CloseIdleConnections()
	request, err := http.NewRequestWithContext(m.Context(), http.MethodGet, url, http.NoBody)
	require.NoError(m, err)
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := insecure.Do(request)
	if err != nil {
		return 0, "", err
	}
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), errors.Join(err, response.Body.Close())
}
