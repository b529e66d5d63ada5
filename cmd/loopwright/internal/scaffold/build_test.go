package scaffold

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
	options.Replace, err = filepath.Abs(filepath.Join("..", "..", "..", ".."))
	require.NoError(t, err)
	options.Dir, options.Module = m.dir, "example.com/shop"
	// The environment is that of Complete, too.
	for _, name := range []string{"MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "CLUSTER", "PORT", "NODES", "ORIGINALS", "LOOPWRIGHT_DIR", "KUBECONFIG"} {
		t.Setenv(name, "")
		require.NoError(t, os.Unsetenv(name))
	}
	require.NoError(t, New(options, t.Output()))
	require.Error(t, m.command(t.Context(), "make", "generate", "TOOL=false").Run())
	var said strings.Builder
	require.NoError(t, Complete(t.Context(), m.dir, io.MultiWriter(&said, t.Output())))
	const first = "make generate, the first time: "
	assert.Contains(t, said.String(), first, "one that did not succeed was taken for the first time")
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
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	ctrl "LIBRARY"
	"PACKAGES/client"
	"PACKAGES/client/fake"
	"PACKAGES/client/interceptor"

	api "example.com/shop/api/v1"
)

func TestALateCacheLeavesNoEntryAndARefusalIsTriedAgain(t *testing.T) {
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
	for _, refusal := range []error{
		apierrors.NewForbidden(corev1.Resource("some"), "next", nil), apierrors.NewInvalid(schema.GroupKind{}, "next", nil),
	} {
		next := &api.KIND{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "next"}}
		server := fake.NewClientBuilder().WithScheme(scheme).WithObjects(next).WithStatusSubresource(next).Build()
		r.Client = interceptor.NewClient(server, interceptor.Funcs{
			Update: func(context.Context, client.WithWatch, client.Object, ...client.UpdateOption) error { return refusal },
		})
		key := client.ObjectKeyFromObject(next)
		result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
		if err != nil || result.RequeueAfter == 0 {
			t.Errorf("the rule may go away, and nobody looks again: %v, %v", result, err)
		}
		if err := server.Get(t.Context(), key, next); err != nil || len(next.Status.Conditions) != 1 {
			t.Errorf("the refusal is not reported: %v, %v", next.Status, err)
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
	debug := freeAddress(m.T)
	m.sets("127.0.0.1:8082", debug)
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
		if !options.ControllerRuntime {
			m.shows(debug, options.Kind)
		}
		m.mayDoWhatItNeeds()
		m.reportsARuleThatIsNewer()
		if options.Webhooks {
			output, err := m.kubectlReads(order("blank", "' '"), "apply")
			assert.Error(m, err)
			assert.Contains(m, output, "it has no text", "the webhook of the second kind is not called")
		}
		m.says("apply", "-f", "config/samples")
		for _, object := range objects {
			m.becomesReady(object)
		}
		m.mayWriteItsOwnOnly(m.says("get", objects[0], "-o", "jsonpath={.metadata.uid}"))
	})

	// The wrong way to remove it: the objects are there, and nobody runs who could remove their finalizers. One of
	// them has a finalizer of somebody else, too, and must not keep the other CRD waiting.
	uid := func(crd string) string {
		output, _ := m.kubectl("get", "crd", crd+".shop.example.com", "-o", "jsonpath={.metadata.uid}").Output()
		return string(output)
	}
	ofKind := plural(strings.ToLower(options.Kind))
	before := map[string]string{ofKind: uid(ofKind), "orders": uid("orders")}
	isNew := func(crd string) func() bool {
		return func() bool { now := uid(crd); return now != "" && now != before[crd] }
	}
	m.says("patch", objects[1], "--type=merge", "--patch", `{"metadata":{"finalizers":["example.com/theirs"]}}`)
	m.says("delete", "-f", "config/crd", "--wait=false")
	m.whileItRuns(func() {
		m.eventually(isNew(ofKind), "the CRD that was being deleted is not installed again")
		m.says("patch", objects[1], "--type=merge", "--patch", `{"metadata":{"finalizers":null}}`)
		m.eventually(isNew("orders"), "the CRD that was held is not installed again")
		m.eventually(samples, "the samples cannot be applied to the new CRD")
		for _, object := range objects {
			m.becomesReady(object)
			m.says("delete", "--timeout=5m", object)
		}
	})
	m.hasEnoughRights(options, objects)
}

// shows asks X-ray what the controllers have done to objects of a kind.
func (m *made) shows(address, kind string) {
	response, err := http.Get("http://" + address + "/debug/xray/recording")
	require.NoError(m, err)
	defer func() { _ = response.Body.Close() }()
	recording, err := io.ReadAll(response.Body)
	require.NoError(m, err)
	assert.Contains(m, string(recording), `"kind":"reconcile end"`)
	assert.Contains(m, string(recording), `"object":"`+kind+`"`)
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	return listener.Addr().String()
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

// applies creates or updates the objects of a manifest.
func (m *made) applies(manifest string) {
	m.Helper()
	output, err := m.kubectlReads(manifest, "apply")
	require.NoError(m, err, "%s", output)
}

// kubectlReads runs a kubectl that may fail, with a manifest as its input.
func (m *made) kubectlReads(manifest string, words ...string) (string, error) {
	kubectl := m.kubectl(append(words, "-f", "-")...)
	kubectl.Stdin = strings.NewReader(manifest)
	output, err := kubectl.CombinedOutput()
	return string(output), err
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

// while does something beside a program of the project, and then ends that as Ctrl-C does. It returns what the program
// said.
func (m *made) while(run *exec.Cmd, does func()) (output string) {
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
		output = said.String()
		assert.NotContains(m, output, "Error ", "the program has not ended in good order")
		if m.Failed() {
			m.Log(output)
		}
		left := m.says("get", "mutatingwebhookconfigurations,validatingwebhookconfigurations", "-o", "name")
		assert.Empty(m, left, "without a server, the webhooks refuse each write")
	}()
	does()
	return
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
