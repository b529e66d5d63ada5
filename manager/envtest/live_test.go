package envtest

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admission "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/loopwright/loopwright/manager/client"
)

func TestWhatIsInstalledIsServedAndStopLeavesNothing(t *testing.T) {
	environment := &Environment{CRDDirectoryPaths: []string{"testdata/crds", "testdata/none"}}
	var output text
	environment.ControlPlane.GetAPIServer().Err = &output
	config := started(t, environment)
	c := clientFor(t, config)
	require.NoError(t, c.Create(t.Context(), widget("a")),
		"a suite could not use its CRDs right after Start")
	assert.Len(t, environment.CRDs, 2)

	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "a"}}},
	}
	assert.NoError(t, c.Create(t.Context(), pod),
		"nobody makes ServiceAccounts here, and so none may be demanded")

	fromFile, err := clientcmd.RESTConfigFromKubeConfig(environment.KubeConfig)
	require.NoError(t, err)
	assert.NoError(t, clientFor(t, fromFile).Get(t.Context(), client.ObjectKeyFromObject(pod), pod))

	require.NoError(t, environment.Stop())
	assert.NotEmpty(t, output.String(), "APIServer.Err got nothing of what the API server printed")
	assert.NoError(t, environment.Stop(), "stopping twice")
	_, err = environment.Start()
	require.NoError(t, err, "a stopped environment can be started again")
	c = clientFor(t, environment.Config)
	err = c.Get(t.Context(), client.ObjectKeyFromObject(widget("a")), widget("a"))
	assert.True(t, apierrors.IsNotFound(err), "the next start found data of the one before: %v",
		err)
}

func TestAUserHasTheRightsThatRBACGivesAndNoOthers(t *testing.T) {
	environment := &Environment{}
	admin := clientFor(t, started(t, environment))
	user, err := environment.AddUser(User{Name: "ann", Groups: []string{"readers"}},
		&rest.Config{QPS: 7, UserAgent: "ann's"})
	require.NoError(t, err)
	assert.Equal(t, float32(7), user.Config().QPS)
	assert.Equal(t, "ann's", user.Config().UserAgent)
	ann := clientFor(t, user.Config())
	namespaces := &corev1.NamespaceList{}
	require.True(t, apierrors.IsForbidden(ann.List(t.Context(), namespaces)))

	require.NoError(t, admin.Create(t.Context(), &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "see"},
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"namespaces"},
			Verbs: []string{"list"}}},
	}))
	require.NoError(t, admin.Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "see"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "see"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind,
			Name: "readers"}},
	}))
	eventually(t, "the group's right is the user's", func() error {
		return ann.List(t.Context(), namespaces)
	})

	kubectl, err := user.Kubectl()
	require.NoError(t, err)
	stdout, stderr, err := kubectl.Run("get", "namespaces", "-o", "name")
	complaint, _ := io.ReadAll(stderr)
	require.NoError(t, err, "%s", complaint)
	said, _ := io.ReadAll(stdout)
	assert.Contains(t, string(said), "namespace/default\n")
	_, _, err = kubectl.Run("get", "secrets")
	assert.Error(t, err, "kubectl is not ann")
}

// bearer is an Authn of a user's own: tokens in a file.
type bearer struct {
	said []string
}

func (b *bearer) Configure(dir string, flags *Arguments) error {
	b.said = append(b.said, "configure")
	flags.Set("token-auth-file", dir+"/tokens")
	return os.WriteFile(dir+"/tokens", []byte("sesame,ali,1,system:masters\n"), 0o600)
}
func (b *bearer) Start() error { b.said = append(b.said, "start"); return nil }
func (b *bearer) Stop() error  { b.said = append(b.said, "stop"); return nil }
func (b *bearer) AddUser(_ User, base *rest.Config) (*rest.Config, error) {
	config := rest.CopyConfig(base)
	config.BearerToken = "sesame"
	return config, nil
}

func TestUsersCanBeAuthenticatedInAWayOfOnesOwnAndFlagsAreTheUsers(t *testing.T) {
	tokens := &bearer{}
	environment := &Environment{}
	server := environment.ControlPlane.GetAPIServer()
	server.Authn = tokens
	server.Configure().Append("disable-admission-plugins",
		"LimitRanger").Set("service-cluster-ip-range", "10.7.0.0/24")
	config := started(t, environment)
	assert.Equal(t, "sesame", config.BearerToken)
	assert.Empty(t, config.CertData)
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default"},
		Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
	require.NoError(t, clientFor(t, config).Create(t.Context(), service))
	assert.True(t, strings.HasPrefix(service.Spec.ClusterIP, "10.7.0."), service.Spec.ClusterIP)
	require.NoError(t, environment.Stop())
	assert.Equal(t, []string{"configure", "start", "stop"}, tokens.said)
}

func TestTheAPIServerCanGoAwayAndComeBack(t *testing.T) {
	environment := &Environment{}
	c := clientFor(t, started(t, environment))
	server := environment.ControlPlane.APIServer
	require.NoError(t, server.Stop())
	assert.Error(t, c.List(t.Context(), &corev1.NamespaceList{}))
	require.NoError(t, server.Stop(), "it is stopped already")
	require.NoError(t, server.Start())
	assert.NoError(t, c.List(t.Context(), &corev1.NamespaceList{}),
		"clients are good for the new one, too")
	require.NoError(t, server.Start(), "it runs already")
}

func TestEnvironmentsRunSideBySide(t *testing.T) {
	var all sync.WaitGroup
	var environments [2]Environment
	if testing.Short() {
		t.Skip("needs a control plane, which -short leaves out")
	}
	for i := range environments {
		all.Go(func() {
			config, err := environments[i].Start()
			if !assert.NoError(t, err) {
				return
			}
			c := clientFor(t, config)
			name := fmt.Sprintf("of-%d", i)
			assert.NoError(t, c.Create(t.Context(),
				&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
			assert.NoError(t, environments[i].Stop())
		})
	}
	all.Wait()
}

func TestAnEnvironmentEndsWithItsProcessAndTakesItsDirectoryAlong(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a control plane, which -short leaves out")
	}
	starter := exec.Command(os.Args[0])
	starter.Env = append(os.Environ(), starterVariable+"=1", "USE_EXISTING_CLUSTER=",
		"TMPDIR="+t.TempDir())
	output, err := starter.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, starter.Start())
	said, _ := bufio.NewReader(output).ReadString('\n')
	left := traces{dir: strings.TrimSpace(said)}
	alive := left.isAlive()
	require.NoError(t, starter.Process.Kill()) // which it cannot react to
	_ = starter.Wait()
	require.NoError(t, alive, said)
	eventually(t, "nothing is left of a test that was killed", left.areGone)
}

func TestAnExistingClusterGetsItsCRDsAndLosesThemAgain(t *testing.T) {
	config := started(t, &Environment{})
	yes := true
	guest := &Environment{
		UseExistingCluster: &yes, Config: config,
		CRDInstallOptions: CRDInstallOptions{Paths: []string{"testdata/crds/widgets.yaml"},
			CleanUpAfterUse: true},
	}
	c := clientFor(t, config)
	for range 2 { // the second time, the first CRD may still be on its way out
		_, err := guest.Start()
		require.NoError(t, err)
		require.NoError(t, c.Create(t.Context(), widget("a")))
		require.NoError(t, guest.Stop())
	}
	eventually(t, "the CRD is gone", func() error {
		err := c.Get(t.Context(), client.ObjectKey{Name: "widgets.envtest.loopwright.example"},
			&apiextensionsv1.CustomResourceDefinition{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(err, errors.New("it is there"))
	})
	_, err := guest.AddUser(User{Name: "ann"}, nil)
	assert.ErrorContains(t, err, "an existing cluster gets its users elsewhere")
}

func TestAStartThatFailsLeavesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a control plane, which -short leaves out")
	}
	t.Setenv("TMPDIR", t.TempDir())
	check := func(environment *Environment, says string) {
		t.Helper()
		_, err := environment.Start()
		require.ErrorContains(t, err, says)
		entries, err := os.ReadDir(os.TempDir())
		require.NoError(t, err)
		assert.Empty(t, entries)
		assert.Empty(t, processesOf(os.TempDir()))
	}
	check(&Environment{CRDDirectoryPaths: []string{"testdata/none"}, ErrorIfCRDPathMissing: true},
		"testdata/none")
	wrong := &Environment{}
	wrong.ControlPlane.GetAPIServer().Configure().Set("no-such-flag", "1")
	check(wrong, "unknown flag: --no-such-flag")

	for step, said := range map[string][]string{
		"configure": {"configure"},
		"start":     {"configure", "start"},
		"add user":  {"configure", "start", "add user", "stop"},
		"stop":      {"configure", "start", "add user", "stop"},
	} {
		faulty := &faultyAuthn{step: step}
		environment := &Environment{}
		environment.ControlPlane.GetAPIServer().Authn = faulty
		if step == "stop" { // which follows another failure
			environment.CRDDirectoryPaths = []string{"testdata/none"}
			environment.ErrorIfCRDPathMissing = true
		}
		check(environment, "no luck with "+step)
		assert.Equal(t, said, faulty.said, "only what has started is stopped")
		assert.False(t, environment.ControlPlane.isRunning())
		assert.Same(t, faulty, environment.ControlPlane.APIServer.Authn, "the user's own is kept")
	}
}

// faultyAuthn is a user's Authn of which one step fails.
type faultyAuthn struct {
	step string
	said []string
}

func (f *faultyAuthn) call(step string) error {
	f.said = append(f.said, step)
	if step == f.step {
		return errors.New("no luck with " + step)
	}
	return nil
}

func (f *faultyAuthn) Configure(dir string, flags *Arguments) error {
	return errors.Join(f.call("configure"), (&bearer{}).Configure(dir, flags))
}
func (f *faultyAuthn) Start() error { return f.call("start") }
func (f *faultyAuthn) Stop() error  { return f.call("stop") }
func (f *faultyAuthn) AddUser(u User, base *rest.Config) (*rest.Config, error) {
	if err := f.call("add user"); err != nil {
		return nil, err
	}
	return (&bearer{}).AddUser(u, base)
}

// serveWebhooks serves as a suite's webhook server does: at the host, port and certificate that the
// options name. It lets through what verdict says.
func serveWebhooks(t *testing.T, o WebhookInstallOptions, verdict func(path string) bool) {
	t.Helper()
	certificate, err := tls.LoadX509KeyPair(filepath.Join(o.LocalServingCertDir, "tls.crt"),
		filepath.Join(o.LocalServingCertDir, "tls.key"))
	require.NoError(t, err)
	listener, err := tls.Listen("tcp",
		net.JoinHostPort(o.LocalServingHost, strconv.Itoa(o.LocalServingPort)),
		&tls.Config{Certificates: []tls.Certificate{certificate}})
	require.NoError(t, err, "the port that Start chose cannot be used")
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		review := &admission.AdmissionReview{}
		if err := json.NewDecoder(r.Body).Decode(review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		review.Response = &admission.AdmissionResponse{UID: review.Request.UID,
			Allowed: verdict(r.URL.Path), Result: &metav1.Status{Message: "not this one"}}
		_ = json.NewEncoder(w).Encode(review)
	})}
	ended := make(chan struct{})
	go func() { _ = server.Serve(listener); close(ended) }()
	t.Cleanup(func() { _ = server.Close(); <-ended })
}

func TestTheAPIServerCallsTheWebhooksOfATest(t *testing.T) {
	environment := &Environment{
		CRDDirectoryPaths:     []string{"testdata/crds"},
		WebhookInstallOptions: WebhookInstallOptions{Paths: []string{"testdata/webhooks"}},
	}
	config := started(t, environment)
	serveWebhooks(t, environment.WebhookInstallOptions, func(path string) bool {
		return path != "/validate-widget"
	})
	c := clientFor(t, config)
	// A new configuration reaches the API server's admission a moment later; until then it lets
	// everything through.
	eventually(t, "the webhook is called", func() error {
		err := c.Create(t.Context(), widget("a"))
		if err != nil {
			assert.ErrorContains(t, err, "not this one")
			return nil
		}
		return c.Delete(t.Context(), widget("a"))
	})
	require.NoError(t, environment.WebhookInstallOptions.Install(config),
		"what is there is updated")
}
