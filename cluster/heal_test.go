package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// remember writes an object; recalls shows that it survived.
func remember(t testing.TB, dir, name string) {
	t.Helper()
	note := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
	_, err := clientOf(t, dir).CoreV1().ConfigMaps("default").Create(t.Context(), note, metav1.CreateOptions{})
	require.NoError(t, err)
}

func recalls(t testing.TB, dir, name string) {
	t.Helper()
	_, err := clientOf(t, dir).CoreV1().ConfigMaps("default").Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err, "what was written before the crash is lost")
}

func TestUpHealsAClusterWhoseAPIServerWasKilled(t *testing.T) {
	dir := sharedDir(t)
	call{dir: dir}.must(t, "up")
	kubeconfig := readFile(t, place{dir: dir}.kubeconfig())
	remember(t, dir, "before-the-api-server-was-killed")
	killParts(t, dir, APIServer)

	assert.Contains(t, call{dir: dir}.must(t, "status"), "It is not whole: kube-apiserver does not run: `make cluster-up` starts it again")
	assert.Contains(t, call{dir: dir}.must(t, "up"), "Restarting the cluster, which keeps your objects: it lacks kube-apiserver.")
	recalls(t, dir, "before-the-api-server-was-killed")
	assert.Equal(t, kubeconfig, readFile(t, place{dir: dir}.kubeconfig()), "a kubeconfig that somebody copied no longer works")
	client := clientOf(t, dir)
	runJob(t, client, newNamespace(t, client), "after-healing")
	assertNodesWereFree(t, client)
}

func TestUpHealsAClusterOfWhichNothingIsLeftButFiles(t *testing.T) {
	dir := sharedDir(t)
	at := place{dir: dir}
	call{dir: dir}.must(t, "up")
	remember(t, dir, "before-everything-was-killed")
	killParts(t, dir, Parts...)
	// The files that say who lived are still there, and name an innocent now.
	innocent := exec.Command("sleep", "600")
	require.NoError(t, innocent.Start())
	defer func() { _ = innocent.Process.Kill(); _ = innocent.Wait() }()
	for _, part := range Parts {
		require.NoError(t, os.WriteFile(at.alive(part), fmt.Appendf(nil, "%d", innocent.Process.Pid), 0o600))
	}
	require.NoError(t, os.WriteFile(at.lock(), fmt.Appendf(nil, "%d", innocent.Process.Pid), 0o600))

	assert.Contains(t, call{dir: dir}.must(t, "status"), "does not run")
	call{dir: dir}.must(t, "up")
	recalls(t, dir, "before-everything-was-killed")
	assert.True(t, alive(innocent.Process.Pid), "a process that had nothing to do with the cluster was killed")
}

func TestUpHealsAClusterWhoseKeysAPowerCutEmptied(t *testing.T) {
	dir := sharedDir(t)
	at := place{dir: dir}
	call{dir: dir}.must(t, "up")
	remember(t, dir, "before-the-power-cut")
	killParts(t, dir, Parts...)
	for _, path := range []string{at.client("kwok"), at.state()} {
		require.NoError(t, os.Truncate(path, 0))
	}
	call{dir: dir}.must(t, "up")
	recalls(t, dir, "before-the-power-cut")
}

func TestUpStartsOverWhereTheFirstStartWasCutOff(t *testing.T) {
	dir := sharedDir(t)
	at := place{dir: dir}
	call{dir: dir}.must(t, "up")
	killParts(t, dir, Parts...)
	// As if the first start had been killed before the API server was ready, and
	// when etcd had not yet written all that it needs.
	require.NoError(t, os.Remove(at.founded()))
	garble(t, filepath.Join(at.etcdData(), "member"))
	call{dir: dir}.must(t, "up")
	assert.FileExists(t, at.founded())
}

func TestDataThatCannotBeUsedAreReportedAndDownAndUpHelp(t *testing.T) {
	dir := sharedDir(t)
	at := place{dir: dir}

	t.Run("corrupt", func(t *testing.T) {
		call{dir: dir}.must(t, "up")
		killParts(t, dir, Parts...)
		garble(t, filepath.Join(at.etcdData(), "member"))
		printed, err := call{dir: dir}.run(t, "up")
		require.Error(t, err, printed)
		assertNamesEtcd(t, printed, at)
		call{dir: dir}.must(t, "down")
	})
	t.Run("full", func(t *testing.T) {
		// No file may grow beyond 1 MB: etcd cannot lay out its log.
		printed, err := call{dir: dir, shell: "ulimit -f 1024"}.run(t, "up")
		require.Error(t, err, printed)
		assertNamesEtcd(t, printed, at)
		assert.Contains(t, printed, "file too large")
		call{dir: dir}.must(t, "down")
	})
	call{dir: dir}.must(t, "up")
}

// garble overwrites etcd's snapshot and write-ahead log.
func garble(t testing.TB, member string) {
	t.Helper()
	garbage := make([]byte, 8192)
	for i := range garbage {
		garbage[i] = byte(i * 7)
	}
	files, err := filepath.Glob(filepath.Join(member, "wal", "*.wal"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, path := range append(files, filepath.Join(member, "snap", "db")) {
		require.FileExists(t, path)
		require.NoError(t, os.WriteFile(path, garbage, 0o600))
	}
}

func assertNamesEtcd(t testing.TB, printed string, at place) {
	t.Helper()
	assert.Contains(t, printed, "etcd ended; the end of its log, "+at.log(Etcd)+":\n  | ")
	assert.Contains(t, printed, "`make cluster-down` removes the cluster with its data; `make cluster-up` then makes a new one")
	assert.NotContains(t, printed, "goroutine ", "a newcomer cannot read a stack trace")
	assert.Empty(t, pids(t, at.dir), "a failing up leaves processes")
	t.Log(printed)
}

func TestAPortThatSomebodySnatchesIsReplaced(t *testing.T) {
	dir := newDir(t)
	needsCluster(t)
	var snatched net.Listener
	stubListen(t, func(network, address string) (net.Listener, error) {
		found, err := net.Listen(network, address)
		if err == nil && snatched == nil {
			snatched = found
			t.Cleanup(func() { _ = snatched.Close() })
			return unclosable{found}, nil // so the port that is found free is not
		}
		return found, err
	})
	var printed bytes.Buffer
	_, err := Up(t.Context(), Options{Dir: dir, Ephemeral: true, Out: &printed})
	require.NoError(t, err)
	assert.Contains(t, printed.String(), "A port was taken meanwhile; trying others.")
}

func TestWithoutAFreePortUpSaysSo(t *testing.T) {
	dir := newDir(t)
	needsCluster(t)
	stubListen(t, func(string, string) (net.Listener, error) { return nil, errors.New("address space exhausted") })
	_, err := Up(t.Context(), Options{Dir: dir, Ephemeral: true})
	require.ErrorContains(t, err, "no free port on 127.0.0.1: address space exhausted: end programs that hold many connections")
}

func stubListen(t testing.TB, stub func(network, address string) (net.Listener, error)) {
	original := listen
	t.Cleanup(func() { listen = original })
	listen = stub
}

// unclosable keeps its port.
type unclosable struct{ net.Listener }

func (unclosable) Close() error { return nil }
