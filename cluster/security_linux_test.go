package cluster

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEveryListenerIsOnLoopback(t *testing.T) {
	up := shared(t)
	listeners := map[Part][]string{}
	for part, pid := range pids(t, up.embedded.at.dir) {
		listeners[part] = listenersOf(t, pid)
	}
	assert.Equal(t, map[Part][]string{
		Etcd:              {fmt.Sprintf("127.0.0.1:%d", up.embedded.state.EtcdPort)},
		APIServer:         {fmt.Sprintf("127.0.0.1:%d", up.embedded.state.APIServerPort)},
		ControllerManager: nil, Scheduler: nil, Kwok: nil,
	}, listeners, "the cluster can be reached from where it should not")
}

// listenersOf reads from /proc which sockets a process has and which of them listen: state 0A for
// TCP, and 07, without a peer, for UDP.
func listenersOf(t testing.TB, pid int) (addresses []string) {
	t.Helper()
	own := map[string]bool{}
	descriptors, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	require.NoError(t, err)
	require.NotEmpty(t, descriptors)
	for _, descriptor := range descriptors {
		target, _ := os.Readlink(descriptor)
		if inode, found := strings.CutPrefix(target, "socket:["); found {
			own[strings.TrimSuffix(inode, "]")] = true
		}
	}
	for table, state := range map[string]string{"tcp": "0A", "tcp6": "0A", "udp": "07", "udp6": "07"} {
		file, err := os.Open(fmt.Sprintf("/proc/%d/net/%s", pid, table))
		require.NoError(t, err)
		defer func() { _ = file.Close() }()
		for lines := bufio.NewScanner(file); lines.Scan(); {
			fields := strings.Fields(lines.Text())
			if len(fields) > 9 && fields[3] == state && own[fields[9]] {
				addresses = append(addresses, readable(t, table, fields[1]))
			}
		}
	}
	return addresses
}

// readable turns 0100007F:1F90 into 127.0.0.1:8080. Other families stay raw, as
// there is to be none.
func readable(t testing.TB, table, raw string) string {
	t.Helper()
	if table != "tcp" {
		return table + " " + raw
	}
	var d, c, b, a, port int
	_, err := fmt.Sscanf(raw, "%02X%02X%02X%02X:%04X", &d, &c, &b, &a, &port)
	require.NoError(t, err)
	return fmt.Sprintf("%d.%d.%d.%d:%d", a, b, c, d, port)
}
