package envtest

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/manager/client"
)

// patience bounds what must not hang. It is far above what anything takes.
const patience = 2 * time.Minute

// starterVariable makes this test binary start an environment and wait to be killed.
const starterVariable = "LOOPWRIGHT_ENVTEST_STARTER"

func TestMain(m *testing.M) {
	if os.Getenv(starterVariable) == "" {
		os.Exit(m.Run())
	}
	environment := &Environment{}
	if _, err := environment.Start(); err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
	fmt.Println(environment.ControlPlane.dir)
	select {}
}

// started starts an environment for one test, and checks that nothing is left of it.
func started(t testing.TB, environment *Environment) *rest.Config {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a control plane, which -short leaves out")
	}
	no := false
	environment.UseExistingCluster = &no // whatever the shell says
	environment.ControlPlaneStartTimeout = patience
	config, err := environment.Start()
	require.NoError(t, err)
	left := traces{dir: environment.ControlPlane.dir,
		certificates: environment.WebhookInstallOptions.LocalServingCertDir}
	left.ports = append(left.ports, environment.ControlPlane.APIServer.HostPort(),
		environment.ControlPlane.Etcd.URL.Host)
	require.NoError(t, left.isAlive())
	t.Cleanup(func() {
		require.NoError(t, environment.Stop())
		require.NoError(t, left.areGone())
	})
	return config
}

// traces are what an environment could leave behind.
type traces struct {
	dir, certificates string
	ports             []string
}

func (left traces) isAlive() error {
	if len(processesOf(left.dir)) != 2 {
		return fmt.Errorf("want etcd and kube-apiserver, and found %q", processesOf(left.dir))
	}
	return nil
}

func (left traces) areGone() error {
	if running := processesOf(left.dir); len(running) > 0 {
		return fmt.Errorf("processes are left: %q", running)
	}
	for _, dir := range []string{left.dir, left.certificates} {
		if _, err := os.Stat(dir); dir != "" && !os.IsNotExist(err) {
			return fmt.Errorf("%s is left: %v", dir, err)
		}
	}
	for _, port := range left.ports {
		if listener, err := net.Listen("tcp", port); err != nil {
			return fmt.Errorf("a port is left: %w", err)
		} else if err := listener.Close(); err != nil {
			return err
		}
	}
	return nil
}

// processesOf lists the processes that have a directory in their command line.
func processesOf(dir string) []string {
	list, err := exec.Command("ps", "-A", "-o", "pid=,command=").Output()
	if err != nil {
		return []string{"ps: " + err.Error()}
	}
	var found []string
	for line := range strings.Lines(string(list)) {
		if strings.Contains(line, dir+"/") {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

func clientFor(t testing.TB, config *rest.Config) client.Client {
	t.Helper()
	c, err := client.New(config, client.Options{})
	require.NoError(t, err)
	return c
}

func widget(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "envtest.loopwright.example/v1", "kind": "Widget",
		"metadata": map[string]any{"name": name, "namespace": "default"},
		"spec":     map[string]any{"size": int64(3)},
	}}
}

// eventually polls until a condition holds.
func eventually(t testing.TB, what string, holds func() error) {
	t.Helper()
	var last error
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(defaultPollInterval) {
		if last = holds(); last == nil {
			return
		}
	}
	t.Fatalf("%s: not after %s: %v", what, patience, last)
}

// text is a buffer that the output of a process may go to.
type text struct{ bytes.Buffer }
