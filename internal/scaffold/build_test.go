package scaffold

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/pki"
)

// hangLimit is how long a command may take before it counts as hanging. Most of it is for a cold
// build cache.
const hangLimit = 15 * time.Minute

// made is a project whose text is complete, in a folder with a space in its name.
type made struct {
	*testing.T
	dir   string
	ended chan struct{} // closed when `make run` has ended
}

func newMade(t *testing.T, options Options) *made {
	t.Helper()
	m := &made{T: t, dir: filepath.Join(t.TempDir(), "my shop")}
	var err error
	options.Replace, err = filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	options.Dir, options.Module = m.dir, "example.com/shop"
	// The environment is that of Complete, too.
	for _, name := range []string{"MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "CLUSTER", "PORT", "NODES", "ORIGINALS", "LOOPWRIGHT_DIR", "KUBECONFIG"} {
		t.Setenv(name, "")
		require.NoError(t, os.Unsetenv(name))
	}
	require.NoError(t, New(options, t.Output()))
	var said strings.Builder
	require.NoError(t, Complete(t.Context(), m.dir, io.MultiWriter(&said, t.Output())))
	const first = "make generate, the first time: "
	assert.Contains(t, said.String(), first)
	assert.NotContains(t, m.does("make", "generate"), first, "it is said each time")
	return m
}

// command runs a command in the folder of the project.
func (m *made) command(ctx context.Context, words ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, words[0], words[1:]...)
	command.Dir = m.dir
	command.Env = append(os.Environ(), "GOWORK=off")
	return command
}

// does runs a command that has to succeed, and returns what it printed.
func (m *made) does(words ...string) string {
	m.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), hangLimit) // Cleanup runs commands, too
	defer cancel()
	said, err := m.command(ctx, words...).CombinedOutput()
	require.NoError(m, ctx.Err(), "%s hangs:\n%s", strings.Join(words, " "), said)
	require.NoError(m, err, "%s:\n%s", strings.Join(words, " "), said)
	return string(said)
}

// kubectl is the one of the project's cluster.
func (m *made) kubectl(words ...string) *exec.Cmd {
	kubectl := m.command(m.Context(), append([]string{filepath.Join(m.dir, ".loopwright", "bin", "kubectl")}, words...)...)
	kubectl.Env = append(kubectl.Env, "KUBECONFIG="+filepath.Join(m.dir, ".loopwright", "cluster", "kubeconfig"))
	return kubectl
}

// The first commands of the README, typed by somebody who has Go and make.
func TestWhatTheREADMEOfANewProjectSaysWorks(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a cluster, which -short leaves out")
	}
	all := os.Getenv("LOOPWRIGHT_TEST_ALL") != "" // `make test-all` asks for it: staticcheck alone takes a minute
	for name, options := range map[string]Options{
		"with webhooks":           {Kind: "Shop", Webhooks: true},
		"plain":                   {Kind: "Client"}, // a name that the templates use, too
		"with controller-runtime": {Kind: "Shop", Webhooks: true, ControllerRuntime: true},
	} {
		t.Run(name, func(t *testing.T) {
			if !all && name != "with webhooks" {
				newMade(t, options).does("go", "build", "./...")
				return
			}
			m := newMade(t, options)
			m.does("go", "tool", "loopwright", "new", "kind", "Order")
			if all {
				m.does("make", "lint")
			}
			m.does("make", "test")
			m.worksWithOtherClients(options)
			m.runs(options)
		})
	}
}

// withFake is a test that a team could write, with the fake client. The reads of the reconciler are those of a cache
// that has not seen any ConfigMap yet.
const withFake = `package controller

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	ctrl "LIBRARY"
	"PACKAGES/client"
	"PACKAGES/client/fake"
	"PACKAGES/client/interceptor"

	api "example.com/shop/api/v1"
)

func TestALateCacheLeavesNoEntry(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	if err := api.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	first := &api.KIND{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "first", UID: "1"}, Spec: api.KINDSpec{Message: "Hello"}}
	server := fake.NewClientBuilder().WithScheme(scheme).WithObjects(first).WithStatusSubresource(first).Build()
	late := interceptor.NewClient(server, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if _, isConfig := object.(*corev1.ConfigMap); isConfig {
				return apierrors.NewNotFound(corev1.Resource("configmaps"), key.Name)
			}
			return c.Get(ctx, key, object, options...)
		},
	})
	r := &KINDReconciler{Client: late, APIReader: server, Recorder: events.NewFakeRecorder(100), Catalog: "catalog"}
	request := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(first)}
	reconcile := func() {
		t.Helper()
		if _, err := r.Reconcile(t.Context(), request); err != nil {
			t.Fatal(err)
		}
	}
	reconcile()
	entry := r.entry(first)
	if err := server.Get(t.Context(), client.ObjectKeyFromObject(entry), entry); err != nil {
		t.Fatal(err)
	}
	if err := server.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	reconcile()
	for _, object := range []client.Object{first, entry} {
		if err := server.Get(t.Context(), client.ObjectKeyFromObject(object), object); !apierrors.IsNotFound(err) {
			t.Errorf("%s is still there: %v", object.GetName(), err)
		}
	}
}
`

// worksWithOtherClients runs the project's tests once more, with the fake client beside them, and with a client that
// waits until its cache has seen its writes. That one refuses DeleteAllOf.
func (m *made) worksWithOtherClients(options Options) {
	library, packages := ours, ours+"/manager"
	if options.ControllerRuntime {
		library, packages = theirs, theirs+"/pkg"
	}
	fake := strings.NewReplacer("LIBRARY", library, "PACKAGES", packages, "KIND", options.Kind).Replace(withFake)
	added := filepath.Join(m.dir, "internal", "controller", "fake_test.go")
	require.NoError(m, os.WriteFile(added, []byte(fake), 0o600))
	name := filepath.Join(m.dir, "internal", "app", "app.go")
	was, err := os.ReadFile(name)
	require.NoError(m, err)
	with := strings.NewReplacer(
		"import (\n", "import (\n\t\""+packages+"/client\"\n",
		"ctrl.Options{\n", "ctrl.Options{\n\t\tClient: client.Options{Cache: &client.CacheOptions{EnableReadYourWritesConsistency: new(true)}},\n",
	).Replace(string(was))
	require.Contains(m, with, "EnableReadYourWritesConsistency")
	require.NoError(m, os.WriteFile(name, []byte(with), 0o600))
	m.does("make", "test")
	require.NoError(m, os.WriteFile(name, was, 0o600))
	require.NoError(m, os.Remove(added))
}

// runs is `make run`, with kubectl beside it, twice.
func (m *made) runs(options Options) {
	m.sets("127.0.0.1:8080", `"0"`) // another test may have these ports
	m.Cleanup(func() {
		m.does("make", "cluster-down")
		assert.Contains(m, m.does("make", "cluster-status"), "No embedded cluster is running")
	})
	m.namesAnAddressThatIsTaken()

	samples := func() bool { return m.kubectl("apply", "-f", "config/samples").Run() == nil }
	objects := []string{strings.ToLower(options.Kind) + ".shop.example.com/first", "order/first"}
	m.whileItRuns(func() {
		m.eventually(samples, "the samples cannot be applied")
		for _, object := range objects {
			m.becomesReady(object)
			m.says("delete", "--timeout=5m", object) // its finalizer has to be removed
		}
		reasons := strings.Fields(m.says("get", "events", "-o", "jsonpath={.items[*].reason}"))
		assert.True(m, slices.Contains(reasons, "Written") && slices.Contains(reasons, "Removed"), "the events are %s", reasons)
		m.mayDoWhatItNeeds()
		m.reportsARuleThatIsNewer()
		if options.Webhooks {
			blank := m.kubectl("apply", "-f", "-")
			blank.Stdin = strings.NewReader("apiVersion: shop.example.com/v1\nkind: Order\nmetadata: {name: blank}\nspec: {message: ' '}\n")
			output, err := blank.CombinedOutput()
			assert.Error(m, err)
			assert.Contains(m, string(output), "it has no text", "the webhook of the second kind is not called")
		}
		m.says("apply", "-f", "config/samples")
		for _, object := range objects {
			m.becomesReady(object)
		}
		m.mayWriteItsOwnOnly(m.says("get", objects[0], "-o", "jsonpath={.metadata.uid}"))
	})

	// The wrong way to remove it: the objects are there, and nobody runs who could remove their finalizers. One CRD is
	// gone altogether, and the other one waits.
	uid := func() string {
		output, _ := m.kubectl("get", "crd", plural(strings.ToLower(options.Kind))+".shop.example.com", "-o", "jsonpath={.metadata.uid}").Output()
		return string(output)
	}
	before := uid()
	m.says("patch", objects[1], "--type=merge", "--patch", `{"metadata":{"finalizers":null}}`)
	m.says("delete", "-f", "config/crd", "--wait=false")
	m.says("wait", "--for=delete", "--timeout=5m", "crd/orders.shop.example.com")
	m.whileItRuns(func() {
		m.eventually(func() bool { return uid() != "" && uid() != before }, "the CRD that was being deleted is not installed again")
		m.eventually(samples, "the samples cannot be applied to the new CRD")
		for _, object := range objects {
			m.becomesReady(object)
			m.says("delete", "--timeout=5m", object)
		}
	})
	m.hasEnoughRights(options, objects)
}

// hasEnoughRights runs the manager with the settings and the rights that it has in a cluster.
func (m *made) hasEnoughRights(options Options, objects []string) {
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
	metrics := "127.0.0.1:" + port()
	dir := m.TempDir()
	here := strings.NewReplacer(":8443", metrics, ":8081", `"0"`, "9443", port(), "/certificate", dir,
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
	m.does("make", "build")
	run := m.command(context.Background(), filepath.Join(m.dir, "bin", "manager"), "--config="+filepath.Join(dir, "settings.yaml"))
	run.Env = append(run.Env, "KUBECONFIG="+config)
	m.while(run, func() {
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
		m.showsItsMetricsToWhoMaySeeThem("https://"+metrics+"/metrics", wrongToken)
	})
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
	insecure := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} // as curl --insecure
	defer insecure.CloseIdleConnections()
	status := func(token string) (int, string) {
		request, err := http.NewRequestWithContext(m.Context(), http.MethodGet, url, http.NoBody)
		require.NoError(m, err)
		request.Header.Set("Authorization", "Bearer "+token)
		response, err := insecure.Do(request)
		require.NoError(m, err)
		text, err := io.ReadAll(response.Body)
		require.NoError(m, errors.Join(err, response.Body.Close()))
		return response.StatusCode, string(text)
	}
	for token, want := range map[string]int{
		"":      http.StatusUnauthorized,
		"wrong": wrongToken,
		strings.TrimSpace(m.says("create", "token", "stranger")): http.StatusForbidden,
		strings.TrimSpace(m.says("create", "token", "scraper")):  http.StatusOK,
	} {
		got, text := status(token)
		assert.Equal(m, want, got, text)
		assert.Equal(m, want == http.StatusOK, strings.Contains(text, "controller_runtime_reconcile_total"), text)
	}
}

// namesAnAddressThatIsTaken runs `make run` beside a program that has the port of the probes, which it switches off
// afterwards.
func (m *made) namesAnAddressThatIsTaken() {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(m, err)
	defer func() { assert.NoError(m, taken.Close()) }()
	m.sets("127.0.0.1:8081", taken.Addr().String())
	output, err := m.command(m.Context(), "make", "run").CombinedOutput()
	assert.Error(m, err)
	assert.Contains(m, string(output), "probeAddress in config/local.yaml: listen tcp "+taken.Addr().String())
	assert.NoFileExists(m, filepath.Join(m.dir, ".loopwright", "cluster", "kubeconfig"), "it has waited for a cluster first")
	m.sets(taken.Addr().String(), `"0"`)
}

// sets replaces a part of the settings of `make run`.
func (m *made) sets(was, is string) {
	m.Helper()
	name := filepath.Join(m.dir, "config", "local.yaml")
	text, err := os.ReadFile(name)
	require.NoError(m, err)
	require.Contains(m, string(text), was)
	require.NoError(m, os.WriteFile(name, []byte(strings.ReplaceAll(string(text), was, is)), 0o600))
}

// says runs a kubectl that has to succeed, and returns what it printed.
func (m *made) says(words ...string) string {
	m.Helper()
	output, err := m.kubectl(words...).CombinedOutput()
	require.NoError(m, err, "kubectl %s: %s", strings.Join(words, " "), output)
	return string(output)
}

// whileItRuns does something beside `make run`.
func (m *made) whileItRuns(does func()) {
	m.Helper()
	m.while(m.command(context.Background(), "make", "run"), does)
}

// becomesReady waits for an object, while the program runs.
func (m *made) becomesReady(object string) {
	m.Helper()
	ready := func() bool {
		return m.kubectl("wait", "--for=condition=Ready", "--timeout=2s", object).Run() == nil
	}
	m.eventually(ready, object+" does not become Ready")
}

// while does something beside a program of the project, and then ends that as Ctrl-C does.
func (m *made) while(run *exec.Cmd, does func()) {
	m.Helper()
	// Ctrl-C must not take the cleaning up away. The program is told, too, and ends.
	_, ignore := signal.NotifyContext(m.Context(), os.Interrupt, syscall.SIGTERM)
	m.Cleanup(ignore)
	run.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var said strings.Builder
	run.Stdout, run.Stderr = &said, &said
	require.NoError(m, run.Start())
	m.ended = make(chan struct{})
	go func() {
		defer close(m.ended)
		_ = run.Wait() // an error, as make is interrupted
	}()
	defer func() {
		_ = syscall.Kill(-run.Process.Pid, syscall.SIGINT) // as Ctrl-C does; if it has ended, what it said shows it
		<-m.ended
		assert.NotContains(m, said.String(), "Error ", "the program has not ended in good order")
		if m.Failed() {
			m.Log(said.String())
		}
		left := m.says("get", "mutatingwebhookconfigurations,validatingwebhookconfigurations", "-o", "name")
		assert.Empty(m, left, "without a server, the webhooks refuse each write")
	}()
	does()
}

// eventually asks until the answer is yes, or `make run` has ended.
func (m *made) eventually(ask func() bool, problem string) {
	m.Helper()
	for limit := time.After(hangLimit); !ask(); {
		select {
		case <-m.ended:
			require.Fail(m, problem, "the program has ended")
		case <-limit:
			require.Fail(m, problem)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

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
		command := m.kubectl(verb, "--as", manager, "-f", "-")
		command.Stdin = strings.NewReader("apiVersion: v1\nkind: ConfigMap\nmetadata: {namespace: " + namespace + ", name: " + name + ", " + owner + "}\n")
		output, _ := command.CombinedOutput() // a refusal is an exit code, too
		return string(output)
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
