package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// pids returns the processes of a cluster's parts that live.
func pids(t testing.TB, dir string) map[Part]int {
	t.Helper()
	found := map[Part]int{}
	for _, part := range Parts {
		if pid, lives := pidOf(part, place{dir: dir}); lives {
			found[part] = pid
		}
	}
	return found
}

// clientOf reaches a cluster through the file that its users get.
func clientOf(t testing.TB, dir string) kubernetes.Interface {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", place{dir: dir}.kubeconfig())
	require.NoError(t, err)
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	return client
}

func TestTwoShellsThatCallUpAtOnceGetOneCluster(t *testing.T) {
	dir := sharedDir(t)
	call{dir: dir}.must(t, "down")
	type result struct {
		printed string
		err     error
	}
	results := make(chan result, 2) // two: one for each shell
	for range 2 {
		command := call{dir: dir}.command(t, "up")
		go func() {
			printed, err := command.CombinedOutput()
			results <- result{string(printed), err}
		}()
	}
	first, second := <-results, <-results
	require.NoError(t, first.err, first.printed)
	require.NoError(t, second.err, second.printed)
	both := first.printed + second.printed
	assert.Equal(t, 1, strings.Count(both, "Control plane "), "only one of them starts it:\n%s", both)
	assert.Equal(t, 2, strings.Count(both, "export KUBECONFIG="+place{dir: dir}.kubeconfig()), both)
	assert.Len(t, processesOf(dir), len(Parts))
}

func TestUpLeavesAClusterAloneThatIsWhole(t *testing.T) {
	dir := sharedDir(t)
	call{dir: dir}.must(t, "up")
	before, kubeconfig := pids(t, dir), readFile(t, place{dir: dir}.kubeconfig())
	require.Len(t, before, len(Parts))
	printed := call{dir: dir}.must(t, "up")
	assert.Equal(t, before, pids(t, dir), printed)
	assert.Equal(t, kubeconfig, readFile(t, place{dir: dir}.kubeconfig()))
}

func readFile(t testing.TB, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(content)
}

func TestStatusTellsWhatRunsWhereSinceWhenAndHowToReachIt(t *testing.T) {
	dir := sharedDir(t)
	call{dir: dir}.must(t, "up")
	printed := call{dir: dir}.must(t, "status")
	at := place{dir: dir}
	state, _, err := loadState(at)
	require.NoError(t, err)
	assert.Contains(t, printed, "embedded cluster at "+state.serverURL())
	assert.Contains(t, printed, "since   "+state.Started.Local().Format("2006-01-02 15:04:05"))
	assert.Contains(t, printed, "nodes   3, 3 of them ready")
	for part, pid := range pids(t, dir) {
		assert.Regexp(t, fmt.Sprintf(`(?m)^  %s +%d +[1-9]\d* MB +%s$`, part, pid, at.log(part)), printed)
		assert.FileExists(t, at.log(part))
	}
	assert.Contains(t, printed, "export KUBECONFIG="+at.kubeconfig())
	assert.Contains(t, printed, "alias kubectl="+at.kubectl())
}

func TestNodesFollowTheCountThatIsAskedFor(t *testing.T) {
	dir := sharedDir(t)
	call{dir: dir}.must(t, "up")
	before := pids(t, dir)
	client := clientOf(t, dir)
	stranger := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "stranger"}}
	_, err := client.CoreV1().Nodes().Create(t.Context(), stranger, metav1.CreateOptions{})
	require.NoError(t, err)
	for _, count := range []int{5, 2, 3} {
		call{dir: dir, env: []string{"NODES=" + strconv.Itoa(count)}}.must(t, "up")
		nodes, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		var names []string
		for _, node := range nodes.Items {
			if node.Name != stranger.Name {
				names = append(names, node.Name)
				assert.True(t, isReady(&node), "up returned before %s was Ready", node.Name)
			}
		}
		want := []string{"node-1", "node-2", "node-3", "node-4", "node-5"}[:count]
		assert.Equal(t, want, names)
		assert.Len(t, nodes.Items, count+1, "a node that somebody else made was removed")
	}
	assert.Equal(t, before, pids(t, dir), "another number of nodes is no reason for a new start")
	require.NoError(t, client.CoreV1().Nodes().Delete(t.Context(), stranger.Name, metav1.DeleteOptions{}))
}

func TestAPortThatIsTakenIsRefusedAndLeavesTheClusterRunning(t *testing.T) {
	dir := sharedDir(t)
	call{dir: dir}.must(t, "up")
	before := pids(t, dir)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = taken.Close() }()
	port := taken.Addr().(*net.TCPAddr).Port
	printed, err := call{dir: dir, env: []string{fmt.Sprintf("PORT=%d", port)}}.run(t, "up")
	require.Error(t, err)
	assert.Contains(t, printed, fmt.Sprintf("port %d on 127.0.0.1 cannot be used", port))
	assert.Contains(t, printed, "choose another with PORT=")
	assert.NotContains(t, printed, "cluster-down", "nothing is wrong with the cluster")
	assert.Equal(t, before, pids(t, dir))
}

func TestThePortThatIsAskedForIsUsedEvenIfItWasEtcds(t *testing.T) {
	dir := sharedDir(t)
	call{dir: dir}.must(t, "up")
	state, _, err := loadState(place{dir: dir})
	require.NoError(t, err)
	wanted := fmt.Sprintf("PORT=%d", state.EtcdPort)
	// While the cluster runs etcd holds the port, and the wish is refused.
	printed, err := call{dir: dir, env: []string{wanted}}.run(t, "up")
	require.Error(t, err, printed)
	killParts(t, dir, Parts...)
	printed = call{dir: dir, env: []string{wanted}}.must(t, "up")
	assert.Contains(t, printed, fmt.Sprintf("https://127.0.0.1:%d", state.EtcdPort))
}

// killParts ends parts as a crash does: the last first, because a part that loses those before it may end by itself.
func killParts(t testing.TB, dir string, parts ...Part) {
	t.Helper()
	for _, part := range slices.Backward(parts) {
		require.NoError(t, kill(part, place{dir: dir}))
	}
}

func TestDownLeavesNoProcessPortOrLock(t *testing.T) {
	dir := sharedDir(t)
	at := place{dir: dir}
	call{dir: dir}.must(t, "up")
	state, _, err := loadState(at)
	require.NoError(t, err)
	running := pids(t, dir)
	require.Len(t, running, len(Parts))

	assert.Contains(t, call{dir: dir}.must(t, "down"), "The cluster is gone.")
	assert.Empty(t, processesOf(dir))
	for part, pid := range running {
		eventually(t, fmt.Sprintf("%s, process %d, is buried", part, pid), func() error {
			if alive(pid) {
				return errors.New("it is still there")
			}
			return nil
		})
	}
	for _, port := range []int{state.APIServerPort, state.EtcdPort} {
		assert.NoError(t, probePort(port), "the port is still taken")
	}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left, "a lock or data are left")

	assert.Contains(t, call{dir: dir}.must(t, "status"), "No embedded cluster is running. `make cluster-up` makes one.")
	call{dir: dir}.must(t, "down") // what is not there is no error to remove
}

// alive reports whether a process is there and is not a zombie, which only waits
// for its parent to notice.
func alive(pid int) bool {
	state, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && !strings.HasPrefix(strings.TrimSpace(string(state)), "Z")
}

func TestCtrlCDuringUpLeavesNothingRunning(t *testing.T) {
	dir := sharedDir(t)
	at := place{dir: dir}
	for _, part := range Parts { // one phase of the start after the other
		call{dir: dir}.must(t, "down")
		command := call{dir: dir}.command(t, "up")
		var printed strings.Builder
		command.Stdout, command.Stderr = &printed, &printed
		require.NoError(t, command.Start())
		eventually(t, string(part)+" starts", func() error {
			if !isLocked(at.alive(part)) {
				return errors.New("not yet")
			}
			return nil
		})
		require.NoError(t, command.Process.Signal(syscall.SIGINT))
		require.Error(t, command.Wait(), "up went on after Ctrl-C when %s had started", part)
		assert.Empty(t, pids(t, dir), "after Ctrl-C when %s had started", part)
		assert.NotContains(t, printed.String(), "cluster-down", "Ctrl-C is no reason to throw data away")
	}
}

func TestCtrlCDuringUpLeavesAClusterAloneThatWasRunning(t *testing.T) {
	dir := sharedDir(t)
	call{dir: dir}.must(t, "up")
	before := pids(t, dir)
	interrupted, interrupt := context.WithCancelCause(t.Context())
	interrupt(errors.New("somebody pressed Ctrl-C"))
	_, err := Up(interrupted, Options{Dir: dir})
	require.ErrorContains(t, err, "somebody pressed Ctrl-C")
	assert.Equal(t, before, pids(t, dir))
}

func TestRemovingTheDirectoryByHandEndsTheCluster(t *testing.T) {
	dir := sharedDir(t)
	call{dir: dir}.must(t, "up")
	running := slices.Collect(maps.Values(pids(t, dir)))
	require.Len(t, running, len(Parts))
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "cluster")))
	eventually(t, "the parts end, as no `down` can find them any more", func() error {
		if left := slices.DeleteFunc(slices.Clone(running), func(pid int) bool { return !alive(pid) }); len(left) > 0 {
			return fmt.Errorf("processes %v live", left)
		}
		return nil
	})
}
