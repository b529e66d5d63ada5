//go:build !windows

package manager

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/signals"
)

const childOfSignals = "MANAGER_TEST_SIGNALS"

// stubbornProgram is a program with a manager, a server, and a part that does not end unless it
// reads a line. It says on standard output what happens to it.
func stubbornProgram() error {
	api := fakeapi.New(fakeapi.Options{})
	defer api.Close()
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	options := Options{Logger: logr.Discard(), GracefulShutdownTimeout: new(time.Duration(-1))}
	options.Metrics.BindAddress = "0"
	m, err := New(api.Config(), options)
	if err != nil {
		return err
	}
	err = errors.Join(
		m.Add(&Server{Name: "probes", Listener: listener,
			Server: newHTTPServer(http.NotFoundHandler())}),
		m.Add(RunnableFunc(func(ctx context.Context) error {
			fmt.Println("runs at", listener.Addr())
			<-ctx.Done()
			fmt.Println("is told:", context.Cause(ctx))
			_, err := bufio.NewReader(os.Stdin).ReadString('\n')
			return err
		})),
	)
	if err != nil {
		return err
	}
	err = m.Start(signals.SetupSignalHandler())
	fmt.Println("Start has returned")
	return err
}

// stubborn is that program as a process of its own, and the leader of a process group.
type stubborn struct {
	*exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	url string
}

func startStubborn(t *testing.T) *stubborn {
	t.Helper()
	// The limit is for a process that hangs; no test waits for it.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	p := &stubborn{Cmd: exec.CommandContext(ctx, os.Args[0], "-test.run=^"+t.Name()+"$",
		"-test.short")}
	p.Env = append(os.Environ(), childOfSignals+"=1")
	p.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := p.StdinPipe()
	require.NoError(t, err)
	out, err := p.StdoutPipe()
	require.NoError(t, err)
	p.in, p.out = in, bufio.NewReader(out)
	require.NoError(t, p.Start())
	p.url = "http://" + strings.TrimPrefix(p.says(t), "runs at ")
	return p
}

func (p *stubborn) says(t *testing.T) string {
	t.Helper()
	line, err := p.out.ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSpace(line)
}

// leaves waits for the end, and returns the exit code and what the process said last.
func (p *stubborn) leaves(t *testing.T) (code int, last string) {
	t.Helper()
	rest, err := io.ReadAll(p.out)
	require.NoError(t, err)
	if err := p.Wait(); err != nil {
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit)
	}
	require.ErrorIs(t, syscall.Kill(-p.Process.Pid, 0), syscall.ESRCH,
		"no process of its group is left")
	return p.ProcessState.ExitCode(), string(rest)
}

// A manager that stops waits for its parts. Whoever does not want to wait says so with a second
// signal.
func TestASecondSignalEndsAManagerWhosePartsDoNotEnd(t *testing.T) {
	if os.Getenv(childOfSignals) != "" {
		_ = stubbornProgram()
		os.Exit(7) // the end that was not asked for
	}
	p := startStubborn(t)
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	require.Equal(t, `is told: the manager stops: received signal "terminated"`, p.says(t))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url, nil)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err, "the probes are answered until the end")
	require.NoError(t, response.Body.Close())

	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	code, last := p.leaves(t)
	require.Equal(t, 1, code)
	require.Empty(t, last, "Start did not return, because the part has not ended")
}

func TestOneSignalEndsAManagerWhenItsPartsHaveEnded(t *testing.T) {
	if os.Getenv(childOfSignals) != "" {
		if err := stubbornProgram(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	p := startStubborn(t)
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	require.Contains(t, p.says(t), "is told")
	_, err := fmt.Fprintln(p.in)
	require.NoError(t, err)
	code, last := p.leaves(t)
	require.Zero(t, code, last)
	require.Equal(t, "Start has returned\n", last)
}
