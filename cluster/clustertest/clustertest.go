// Package clustertest gives integration tests a real API server.
//
// Every test binary gets its own embedded cluster. It starts when the first test needs it (about 3
// s), and ends when the binary ends, in any way; a binary that `go test` runs ends with it. So a
// test may restart the API server or compact etcd without disturbing the tests of other packages.
// Within a binary, tests share the cluster and use different namespaces.
//
// Neighbours: below it is package cluster; above it are the integration tests of every layer.
package clustertest

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/cluster"
)

// startLimit bounds the start of a cluster, including the one-time build.
const startLimit = 15 * time.Minute

// shared is the cluster of this test binary. The mutex guards it.
var shared struct {
	sync.Mutex
	running  bool // Run was called, and will clean up
	starting bool // Shared has tried a start; cluster or err is its result
	cluster  *cluster.Cluster
	err      error
}

// Run runs the tests of a package and then removes the cluster that they used. Call it in TestMain:
//
//	func TestMain(m *testing.M) { os.Exit(clustertest.Run(m)) }
func Run(m *testing.M) int {
	cluster.EndWithParent()
	shared.Lock()
	shared.running = true
	shared.Unlock()
	code := m.Run()
	if err := remove(); err != nil {
		fmt.Fprintln(os.Stderr, "clustertest:", err)
		return max(code, 1)
	}
	return code
}

func remove() error {
	shared.Lock()
	defer shared.Unlock()
	if shared.cluster == nil {
		return nil
	}
	return shared.cluster.Down(context.Background())
}

// Shared returns the cluster of this test binary. With -short it skips the test; nothing else does.
func Shared(t testing.TB) *cluster.Cluster {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a cluster, which -short leaves out")
	}
	shared.Lock()
	defer shared.Unlock()
	if !shared.running {
		t.Fatal("the package needs: func TestMain(m *testing.M) { os.Exit(clustertest.Run(m)) }")
	}
	if !shared.starting {
		shared.starting = true
		shared.cluster, shared.err = up()
	}
	if shared.err != nil {
		t.Fatalf("no cluster to test on: %v", shared.err)
	}
	return shared.cluster
}

func up() (*cluster.Cluster, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	return cluster.Up(ctx, cluster.Options{Ephemeral: true, Out: os.Stderr})
}

// WithGates starts a second cluster, for one test, whose API server has feature gates that are off
// by default. It's etcd and the API server alone: no controller runs there.
func WithGates(t testing.TB, gates ...string) *cluster.Cluster {
	t.Helper()
	return another(t, "feature gates "+strings.Join(gates, ", "), cluster.Options{
		Parts: []cluster.Part{cluster.Etcd, cluster.APIServer},
		Arguments: func(part cluster.Part, line []string) ([]string, error) {
			if part == cluster.APIServer {
				line = append(line, "--feature-gates="+strings.Join(gates, "=true,")+"=true")
			}
			return line, nil
		},
	})
}

// WithOriginals starts a second cluster, for one test, with other controllers of Kubernetes than usual; see
// cluster.Options.Originals.
func WithOriginals(t testing.TB, originals ...string) *cluster.Cluster {
	t.Helper()
	return another(t, "controllers "+strings.Join(originals, ", "), cluster.Options{Originals: originals})
}

func another(t testing.TB, what string, options cluster.Options) *cluster.Cluster {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a cluster, which -short leaves out")
	}
	options.Ephemeral, options.Out = true, os.Stderr
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	started, err := cluster.Up(ctx, options)
	if err != nil {
		t.Fatalf("no cluster with %s to test on: %v", what, err)
	}
	t.Cleanup(func() {
		if err := started.Down(context.Background()); err != nil {
			t.Errorf("taking the cluster with %s down: %v", what, err)
		}
	})
	return started
}

// Config returns the administrator's configuration for the cluster.
func Config(t testing.TB) *rest.Config {
	t.Helper()
	return Shared(t).RESTConfig()
}

// Client returns a typed client for the cluster.
func Client(t testing.TB) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(Config(t))
	if err != nil {
		t.Fatalf("making a client: %v", err)
	}
	return client
}

// Namespace makes a namespace for one test and deletes it afterwards, without waiting for the end
// of the deletion.
func Namespace(t testing.TB) string {
	t.Helper()
	namespaces := Client(t).CoreV1().Namespaces()
	made, err := namespaces.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("making a namespace: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := namespaces.Delete(ctx, made.Name, metav1.DeleteOptions{}); err != nil {
			t.Errorf("deleting namespace %s: %v", made.Name, err)
		}
	})
	return made.Name
}
