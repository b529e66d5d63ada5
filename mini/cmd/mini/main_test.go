package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// A server's audit log has no other name for the program.
func TestTheProgramSaysItsNameInEachRequest(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	agents := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case agents <- r.UserAgent():
		default: // one is enough
		}
		stop()
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	kubeconfig := clientcmdapi.NewConfig()
	kubeconfig.Clusters["c"] = &clientcmdapi.Cluster{Server: server.URL}
	kubeconfig.Contexts["c"] = &clientcmdapi.Context{Cluster: "c"}
	kubeconfig.CurrentContext = "c"
	require.NoError(t, clientcmd.WriteToFile(*kubeconfig, file))
	t.Setenv("KUBECONFIG", file)
	require.NoError(t, run(ctx))
	require.Equal(t, rest.DefaultKubernetesUserAgent(), <-agents)
}
