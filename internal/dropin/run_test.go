package dropin

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A test that panics leaves its API server behind, in a group of its own. The next run would meet it.
func TestWhatAProgramLeavesBehindIsEnded(t *testing.T) {
	if _, err := exec.LookPath("ps"); err != nil {
		t.Skip("there is no ps, and without it only a program's own group is ended; CI's machines have one")
	}
	file := filepath.Join(t.TempDir(), "pid")
	require.NoError(t, run(t.Context(), exec.Command("sh", "-c", "set -m; sleep 600 >/dev/null 2>&1 & echo $! > "+file)))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return syscall.Kill(pid, 0) != nil }, time.Minute, 10*time.Millisecond)
}
