//go:build !windows

package signals

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/tests/inorder"
)

// TestMain plays the program that is signaled when a test starts it as a child.
func TestMain(m *testing.M) {
	switch os.Getenv("SIGNALS_TEST_CHILD") {
	case "once":
		child()
	case "twice":
		SetupSignalHandler()
		defer func() {
			fmt.Println(recover())
			os.Exit(0)
		}()
		SetupSignalHandler()
	}
	os.Exit(m.Run())
}

// child says what happens to it on standard output. After a signal it waits for a line on standard
// input before it exits with code 0.
func child() {
	ctx := SetupSignalHandler()
	fmt.Println("ready")
	<-ctx.Done()
	fmt.Println(context.Cause(ctx))
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	os.Exit(0)
}

type process struct {
	*exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func start(t *testing.T, what string) process {
	t.Helper()
	// The limit is for a child that hangs; no test waits for it.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	p := process{Cmd: exec.CommandContext(ctx, os.Args[0])}
	p.Env = append(os.Environ(), "SIGNALS_TEST_CHILD="+what)
	in, err := p.StdinPipe()
	require.NoError(t, err)
	out, err := p.StdoutPipe()
	require.NoError(t, err)
	p.in, p.out = in, bufio.NewReader(out)
	require.NoError(t, p.Start())
	return p
}

func (p process) says(t *testing.T, want string) {
	t.Helper()
	line, err := p.out.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, want+"\n", line)
}

func TestTheFirstSignalEndsTheContext(t *testing.T) {
	for name, c := range inorder.Map(map[string]struct {
		signal os.Signal
		cause  string
	}{
		"SIGTERM": {syscall.SIGTERM, `received signal "terminated"`},
		"Ctrl-C":  {syscall.SIGINT, `received signal "interrupt"`},
	}) {
		t.Run(name, func(t *testing.T) {
			p := start(t, "once")
			p.says(t, "ready")
			require.NoError(t, p.Process.Signal(c.signal))
			p.says(t, c.cause)
			_, err := fmt.Fprintln(p.in)
			require.NoError(t, err)
			require.NoError(t, p.Wait(), "the program ended by itself")
		})
	}
}

func TestTheSecondSignalEndsTheProcessAtOnce(t *testing.T) {
	p := start(t, "once")
	p.says(t, "ready")
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	p.says(t, `received signal "terminated"`)
	require.NoError(t, p.Process.Signal(syscall.SIGINT))
	var exit *exec.ExitError
	require.ErrorAs(t, p.Wait(), &exit)
	require.Equal(t, 1, exit.ExitCode(), "it did not wait for its input")
}

// Two handlers would share the signals, and the second signal of a user would not end the process.
func TestASecondHandlerIsRefused(t *testing.T) {
	p := start(t, "twice")
	p.says(t, "signals: SetupSignalHandler was called twice; call it once in main, and pass the "+
		"context on")
	require.NoError(t, p.Wait())
}
