package cluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// startAndWait is the process that starts an ephemeral cluster and is killed.
func startAndWait(dir string) int {
	if _, err := Up(context.Background(), Options{Dir: dir, Ephemeral: true}); err != nil {
		fmt.Println("failed:", err)
		return 1
	}
	fmt.Println("up")
	select {}
}

func TestAnEphemeralClusterEndsWithTheProcessThatStartedIt(t *testing.T) {
	needsCluster(t)
	dir := newDir(t)
	starter := exec.Command(os.Args[0], dir)
	starter.Env = append(os.Environ(), roleVariable+"=starter")
	output, err := starter.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, starter.Start())
	said, _ := bufio.NewReader(output).ReadString('\n')
	running := pids(t, dir)
	require.NoError(t, starter.Process.Kill()) // which it cannot react to
	_ = starter.Wait()
	require.Equal(t, "up", strings.TrimSpace(said))
	require.Len(t, running, len(Parts))
	eventually(t, "all parts end by themselves", func() error {
		if left := pids(t, dir); len(left) > 0 {
			return fmt.Errorf("%v are left", left)
		}
		return nil
	})
}

func TestAnEphemeralClusterOutlivesTheGarbageCollector(t *testing.T) {
	at := place{dir: t.Name()}
	func() { // so that nothing here holds on to the pipe
		_, err := tieLifeline(at)
		require.NoError(t, err)
	}()
	defer cutLifeline(at)
	runtime.GC()
	runtime.GC() // a file is closed in the round after the one that finds it
	reading, err := tieLifeline(at)
	require.NoError(t, err)
	require.NoError(t, reading.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
	_, err = reading.Read(make([]byte, 1))
	assert.True(t, errors.Is(err, os.ErrDeadlineExceeded), "the parts would have read the end of their lifeline: %v", err)
}
