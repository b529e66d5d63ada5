package filters

import (
	"context"
	"io"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/cluster/clustertest"
)

func TestMain(m *testing.M) { os.Exit(clustertest.Run(m)) }

// serviceAccount makes one, and returns a token of it.
func serviceAccount(t *testing.T, namespace, name string) string {
	t.Helper()
	accounts := clustertest.Client(t).CoreV1().ServiceAccounts(namespace)
	_, err := accounts.Create(t.Context(),
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	require.NoError(t, err)
	token, err := accounts.CreateToken(t.Context(), name, &authenticationv1.TokenRequest{},
		metav1.CreateOptions{})
	require.NoError(t, err)
	return token.Status.Token
}

// mayScrape lets a service account read /metrics.
func mayScrape(t *testing.T, namespace, name string) {
	t.Helper()
	// nobody else's name
	rbac, meta := clustertest.Client(t).RbacV1(), metav1.ObjectMeta{Name: namespace + "-metrics"}
	_, err := rbac.ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: meta,
		Rules: []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"},
			Verbs: []string{"get"}}}}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = rbac.ClusterRoleBindings().Create(t.Context(),
		&rbacv1.ClusterRoleBinding{ObjectMeta: meta,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace,
				Name: name}}}, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = rbac.ClusterRoleBindings().Delete(ctx, meta.Name, metav1.DeleteOptions{})
		_ = rbac.ClusterRoles().Delete(ctx, meta.Name, metav1.DeleteOptions{})
	})
}

func TestTheRealServerSaysWhoMayReadMetrics(t *testing.T) {
	config, namespace := clustertest.Config(t), clustertest.Namespace(t)
	allowed, stranger := serviceAccount(t, namespace, "prometheus"), serviceAccount(t, namespace,
		"stranger")
	mayScrape(t, namespace, "prometheus")
	httpClient, err := rest.HTTPClientFor(config)
	require.NoError(t, err)
	// The server's authorizer learns of the role a moment later, and a refusal is remembered; each
	// look is by a filter that remembers nothing.
	look := func(method, path, token string) int {
		filter, err := WithAuthenticationAndAuthorization(config, httpClient)
		require.NoError(t, err)
		handler, err := filter(logr.Discard(),
			http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, "metrics")
			}))
		require.NoError(t, err)
		code, _ := ask(t.Context(), handler, method, path, "Bearer "+token)
		return code
	}
	require.Eventually(t, func() bool {
		return look("GET", "/metrics", allowed) == 200
	}, time.Minute, 50*time.Millisecond)
	require.Equal(t, 403, look("POST", "/metrics", allowed))
	require.Equal(t, 403, look("GET", "/debug/xray/", allowed))
	require.Equal(t, 403, look("GET", "/metrics", stranger))
	require.Equal(t, 401, look("GET", "/metrics", "no.such.token"))
	require.Equal(t, 401, look("GET", "/metrics", stranger+"x"), "a token with a wrong signature")
}
