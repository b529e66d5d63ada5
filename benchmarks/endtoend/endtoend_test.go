// Package endtoend runs one controller, built with each library from the same source, against a real API server.
package endtoend

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/loopwright/loopwright/benchmarks/build"
	"github.com/loopwright/loopwright/cluster/clustertest"
)

func TestMain(m *testing.M) { os.Exit(clustertest.Run(m)) }

var peers = []struct {
	name   string
	source func(string) string
}{{"ours", build.AsOurs}, {"controller-runtime", build.AsItIs}}

// took is what the program prints.
type took struct{ Nanoseconds, CPUNanoseconds, Calls, Conflicts, Peak int64 }

// BenchmarkConverge is a controller that is started where 5,000 ConfigMaps ask for something. Each reconcile reads
// from the cache and writes to the API server. The time ends with the last write. API calls are all that go out:
// discovery, lists, watches, and one write for each object if nothing is in vain.
func BenchmarkConverge(b *testing.B) {
	if testing.Short() {
		b.Skip("it needs a cluster")
	}
	const objects = 5_000
	config := clustertest.Config(b)
	for _, peer := range peers {
		b.Run(peer.name, func(b *testing.B) {
			binary, err := build.Program(b.Context(), "program", b.TempDir(), peer.source)
			require.NoError(b, err)
			var all took
			for b.Loop() {
				b.StopTimer()
				namespace := clustertest.Namespace(b)
				ask(b, config, namespace, objects)
				b.StartTimer()
				one := converge(b, config, binary, namespace, objects)
				b.StopTimer()
				all.Nanoseconds += one.Nanoseconds
				all.CPUNanoseconds += one.CPUNanoseconds
				all.Calls += one.Calls
				all.Peak = max(all.Peak, one.Peak)
				b.StartTimer()
			}
			n := float64(b.N)
			b.ReportMetric(float64(all.Nanoseconds)/n, "ns/op")
			b.ReportMetric(float64(all.CPUNanoseconds)/n, "cpu-ns/op")
			b.ReportMetric(float64(all.Calls)/n, "api-calls/op")
			b.ReportMetric(float64(all.Peak)/1e6, "peak-MB")
			b.ReportMetric(0, "B/op") // of this process, which only waits
			b.ReportMetric(0, "allocs/op")
		})
	}
}

// Both builds of the program do all the work, with a few calls more than there are objects.
func TestBothConvergeOnARealServer(t *testing.T) {
	if testing.Short() {
		t.Skip("it needs a cluster")
	}
	const objects = 50
	config := clustertest.Config(t)
	for _, peer := range peers {
		t.Run(peer.name, func(t *testing.T) {
			binary, err := build.Program(t.Context(), "program", t.TempDir(), peer.source)
			require.NoError(t, err)
			namespace := clustertest.Namespace(t)
			ask(t, config, namespace, objects)
			one := converge(t, config, binary, namespace, objects)
			require.GreaterOrEqual(t, one.Calls, int64(objects))
			require.LessOrEqual(t, one.Calls, int64(objects)+one.Conflicts+20, "discovery, a list and a watch")
			require.Greater(t, one.Peak, int64(10<<20))
			clients, err := kubernetes.NewForConfig(config)
			require.NoError(t, err)
			list, err := clients.CoreV1().ConfigMaps(namespace).List(t.Context(), metav1.ListOptions{})
			require.NoError(t, err)
			got := 0
			for _, found := range list.Items {
				if wanted, asks := found.Data["wanted"]; asks {
					require.Equal(t, wanted, found.Data["has"], found.Name)
					got++
				}
			}
			require.Equal(t, objects, got)
		})
	}
}

// ask creates the objects.
func ask(tb testing.TB, config *rest.Config, namespace string, objects int) {
	tb.Helper()
	config = rest.CopyConfig(config)
	config.QPS = -1
	clients, err := kubernetes.NewForConfig(config)
	require.NoError(tb, err)
	numbers, failures := make(chan int), make(chan error, objects)
	var creators sync.WaitGroup
	for range 16 {
		creators.Go(func() {
			for i := range numbers {
				object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("asks-%05d", i)}, Data: map[string]string{"wanted": fmt.Sprint(i)}}
				if _, err := clients.CoreV1().ConfigMaps(namespace).Create(tb.Context(), object, metav1.CreateOptions{}); err != nil {
					failures <- err
				}
			}
		})
	}
	for i := range objects {
		numbers <- i
	}
	close(numbers)
	creators.Wait()
	close(failures)
	require.NoError(tb, <-failures)
}

// converge runs the program until all objects have what they ask for.
func converge(tb testing.TB, config *rest.Config, binary, namespace string, objects int) took {
	tb.Helper()
	ctx, stop := context.WithTimeout(tb.Context(), 10*time.Minute)
	defer stop()
	command := exec.CommandContext(ctx, binary, "-namespace", namespace, "-objects", fmt.Sprint(objects))
	command.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig(tb, config))
	var printed, wrong bytes.Buffer
	command.Stdout, command.Stderr = &printed, &wrong
	require.NoError(tb, command.Run(), "%s", &wrong)
	var one took
	require.NoError(tb, json.Unmarshal(printed.Bytes(), &one), "%s", &printed)
	return one
}

func kubeconfig(tb testing.TB, config *rest.Config) string {
	tb.Helper()
	file := filepath.Join(tb.TempDir(), "kubeconfig")
	require.NoError(tb, clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{"it": {Server: config.Host, CertificateAuthority: config.CAFile, CertificateAuthorityData: config.CAData}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{"me": {ClientCertificate: config.CertFile, ClientKey: config.KeyFile,
			ClientCertificateData: config.CertData, ClientKeyData: config.KeyData, Token: config.BearerToken}},
		Contexts: map[string]*clientcmdapi.Context{"it": {Cluster: "it", AuthInfo: "me"}}, CurrentContext: "it",
	}, file))
	return file
}
