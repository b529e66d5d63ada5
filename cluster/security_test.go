package cluster

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/loopwright/loopwright/internal/pki"
)

func sharedClient(t testing.TB) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(shared(t).RESTConfig())
	require.NoError(t, err)
	return client
}

func TestAClientThatTrustsAnotherCARefusesTheCluster(t *testing.T) {
	config := shared(t).RESTConfig()
	require.False(t, config.Insecure)
	other, err := pki.NewCA("loopwright")
	require.NoError(t, err)
	config.CAData = other.CertPEM
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	_, err = client.Discovery().ServerVersion()
	var unknown x509.UnknownAuthorityError
	require.ErrorAs(t, err, &unknown, "somebody on this machine could pose as the API server")
}

// get asks an HTTPS server, offering a client certificate whether the server
// would like it or not.
func get(t testing.TB, url, caFile string, offered tls.Certificate) (status int, body string, err error) {
	t.Helper()
	trusted := x509.NewCertPool()
	require.True(t, trusted.AppendCertsFromPEM([]byte(readFile(t, caFile))))
	transport := &http.Transport{TLSClientConfig: &tls.Config{
		RootCAs:              trusted,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &offered, nil },
	}}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport, Timeout: 10 * time.Second}).Get(url)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	return response.StatusCode, string(content), err
}

func TestAnonymousRequestsAreRefused(t *testing.T) {
	up := shared(t)
	for _, path := range []string{"/", "/api", "/version", "/readyz", "/metrics", "/openapi/v3", "/api/v1/namespaces"} {
		status, body, err := get(t, up.RESTConfig().Host+path, up.embedded.at.pki("ca.crt"), tls.Certificate{})
		require.NoError(t, err)
		assert.Equal(t, http.StatusUnauthorized, status, "%s told somebody without credentials: %s", path, body)
	}
}

func TestOnlyTheAPIServerReachesEtcd(t *testing.T) {
	up := shared(t)
	at, url := up.embedded.at, up.embedded.state.etcdURL()+"/version"
	own, err := tls.LoadX509KeyPair(at.pki("etcd-client.crt"), at.pki("etcd-client.key"))
	require.NoError(t, err)
	status, body, err := get(t, url, at.pki("etcd-ca.crt"), own)
	require.NoError(t, err, "or the refusals below prove nothing")
	assert.Equal(t, http.StatusOK, status)
	assert.Contains(t, body, "etcdserver")

	_, _, err = get(t, url, at.pki("etcd-ca.crt"), tls.Certificate{})
	assert.ErrorContains(t, err, "certificate required", "anybody on this machine could read all secrets from etcd")
	admin, err := clientcmd.LoadFromFile(at.kubeconfig())
	require.NoError(t, err)
	user := admin.AuthInfos[kubeconfigName]
	certificate, err := tls.X509KeyPair(user.ClientCertificateData, user.ClientKeyData)
	require.NoError(t, err)
	_, _, err = get(t, url, at.pki("etcd-ca.crt"), certificate)
	assert.Regexp(t, "unknown certificate authority|bad certificate", err, "a user of the cluster could go past the API server")
}

func TestKwokMayOnlyDoItsWork(t *testing.T) {
	up := shared(t)
	config, err := clientcmd.BuildConfigFromFlags("", up.embedded.at.client("kwok"))
	require.NoError(t, err)
	kwok, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	_, err = kwok.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	_, err = kwok.CoreV1().Secrets("").List(t.Context(), metav1.ListOptions{})
	assert.True(t, apierrors.IsForbidden(err), "kwok reads secrets: %v", err)
	_, err = kwok.CoreV1().Nodes().Create(t.Context(), newNode("made-by-kwok"), metav1.CreateOptions{})
	assert.True(t, apierrors.IsForbidden(err), "kwok makes nodes: %v", err)
}

func TestAServiceAccountsTokenIsKnownAndMayDoNothing(t *testing.T) {
	up, admin := shared(t), sharedClient(t)
	request := &authenticationv1.TokenRequest{}
	token, err := admin.CoreV1().ServiceAccounts("default").CreateToken(t.Context(), "default", request, metav1.CreateOptions{})
	require.NoError(t, err)
	config := rest.AnonymousClientConfig(up.RESTConfig())
	config.BearerToken = token.Status.Token
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	self, err := client.AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	require.NoError(t, err)
	assert.Equal(t, "system:serviceaccount:default:default", self.Status.UserInfo.Username)
	_, err = client.CoreV1().Secrets("default").List(t.Context(), metav1.ListOptions{})
	assert.True(t, apierrors.IsForbidden(err), "RBAC is off: %v", err)
}

func TestAnOrdinaryPodIsAdmittedAsSoonAsUpReturns(t *testing.T) {
	needsCluster(t)
	up, err := Up(t.Context(), Options{Dir: newDir(t), Ephemeral: true, Nodes: 1})
	require.NoError(t, err)
	client, err := kubernetes.NewForConfig(up.RESTConfig())
	require.NoError(t, err)
	pod, err := client.CoreV1().Pods("default").Create(t.Context(), newPod("first"), metav1.CreateOptions{})
	require.NoError(t, err)
	assert.Equal(t, "default", pod.Spec.ServiceAccountName)
	assert.Len(t, pod.Spec.Volumes, 1, "its ServiceAccount's token")
}

func newPod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "registry.k8s.io/pause:3.10"}}},
	}
}

func TestKeysAndKubeconfigsArePrivateUnderEveryUmask(t *testing.T) {
	needsCluster(t)
	for _, umask := range []string{"000", "0277"} {
		t.Run(umask, func(t *testing.T) {
			dir := filepath.Join(newDir(t), "made", "along")
			call{dir: dir, shell: "umask " + umask}.must(t, "up")
			defer call{dir: dir}.must(t, "down")
			assertPrivate(t, dir)
		})
	}
	t.Run("of the tests", func(t *testing.T) {
		dir := shared(t).embedded.at.dir
		assertPrivate(t, dir)
	})
}

func assertPrivate(t testing.TB, dir string) {
	t.Helper()
	keys := 0
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil || info.Mode()&os.ModeSymlink != 0 {
			return err
		}
		want := fs.FileMode(0o600)
		if entry.IsDir() {
			want = 0o700
		}
		if strings.HasSuffix(path, ".key") || strings.HasSuffix(path, "kubeconfig") {
			keys++
		}
		if !strings.Contains(path, "/etcd/") { // which chooses its own modes, in a private directory
			assert.Equal(t, want, info.Mode().Perm(), "%s", path)
		}
		assert.Zero(t, info.Mode().Perm()&0o077, "others may use %s", path)
		return nil
	})
	require.NoError(t, err)
	assert.Equal(t, 10, keys, "the walk did not see all keys and kubeconfigs")
}
