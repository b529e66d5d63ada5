package compare

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// replica is one process of the operator.
type replica struct {
	name                    string
	command                 *exec.Cmd
	log                     string        // a file
	metrics, probe, webhook string        // addresses
	ended                   chan struct{} // closed when the process has ended
	err                     error         // set before ended is closed
}

// fleet starts replicas and knows those that were started.
type fleet struct {
	t          *testing.T
	binary     string
	dir        string // for logs
	kubeconfig string
	certs      string
	namespace  string
	registrar  string
	front      *front
	all        []*replica
}

// start starts a replica and waits until it is ready. Another process may take a port that was free a moment
// ago; then other ports are tried.
func (f *fleet) start(ctx context.Context) (*replica, error) {
	for try := 1; ; try++ {
		r, err := f.tryStart(ctx)
		if err == nil {
			f.front.add(r.webhook)
			return r, nil
		}
		if try == 3 || r == nil || !strings.Contains(r.output(), "address already in use") {
			return nil, err
		}
	}
}

func (f *fleet) tryStart(ctx context.Context) (*replica, error) {
	ports, err := freeAddresses(3)
	if err != nil {
		return nil, err
	}
	r := &replica{
		name: fmt.Sprintf("replica-%d", len(f.all)+1), metrics: ports[0], probe: ports[1], webhook: ports[2],
		ended: make(chan struct{}),
	}
	r.log = filepath.Join(f.dir, r.name+".log")
	out, err := os.Create(r.log)
	if err != nil {
		return nil, err
	}
	defer func() { _ = out.Close() }() // the process has its own
	host, port, err := net.SplitHostPort(r.webhook)
	if err != nil {
		return nil, err
	}
	r.command = exec.Command(f.binary,
		"--metrics-bind-address", r.metrics, "--health-probe-bind-address", r.probe,
		"--webhook-host", host, "--webhook-port", port, "--webhook-cert-path", f.certs,
		"--registrar-url", f.registrar, "--leader-elect", "--leader-elect-namespace", f.namespace,
		"--leader-elect-lease-duration", "8s", "--leader-elect-renew-deadline", "6s", "--leader-elect-retry-period", "500ms")
	r.command.Env = append(os.Environ(), "KUBECONFIG="+f.kubeconfig)
	r.command.Stdout, r.command.Stderr = out, out
	if err := r.command.Start(); err != nil {
		return nil, err
	}
	go func() {
		r.err = r.command.Wait()
		close(r.ended)
	}()
	f.all = append(f.all, r)
	return r, poll(ctx, r.name+" to be ready", func() error {
		select {
		case <-r.ended:
			return fatal{fmt.Errorf("%s has ended: %w", r.name, r.err)}
		default:
		}
		_, err := get(ctx, "http://"+r.probe+"/readyz")
		return err
	})
}

// killAll ends what is still there.
func (f *fleet) killAll() {
	for _, r := range f.all {
		if err := r.kill(); err != nil {
			f.t.Errorf("killing %s: %v", r.name, err)
		}
	}
}

// freeAddresses finds ports of this machine that nobody uses now.
func freeAddresses(n int) (addresses []string, err error) {
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer func() { _ = listener.Close() }()
		addresses = append(addresses, listener.Addr().String())
	}
	return addresses, nil
}

// kill ends a process without asking it, if it is still there.
func (r *replica) kill() error {
	err := r.command.Process.Kill()
	<-r.ended
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// stop asks a process to end, as a kubelet does, and returns how it ended.
func (r *replica) stop(ctx context.Context) error {
	if err := r.command.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-r.ended:
		return r.err
	case <-ctx.Done():
		return fmt.Errorf("%s does not end: %w", r.name, context.Cause(ctx))
	}
}

func (r *replica) alive() bool {
	select {
	case <-r.ended:
		return false
	default:
		return true
	}
}

func (r *replica) output() string {
	text, err := os.ReadFile(r.log)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// metricNames adds the names and types of all metrics that a replica has.
func (r *replica) metricNames(ctx context.Context, names map[string]bool) error {
	text, err := get(ctx, "http://"+r.metrics+"/metrics")
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if typed, ok := strings.CutPrefix(lines.Text(), "# TYPE "); ok {
			names[typed] = true
		}
	}
	return lines.Err()
}

func get(ctx context.Context, url string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", url, response.Status, text)
	}
	return text, err
}

// fatal is an error that no second try mends.
type fatal struct{ error }

func (f fatal) Unwrap() error { return f.error }

// poll asks until there is no error. There is no limit but that of the context, which is a generous one.
func poll(ctx context.Context, what string, ask func() error) error {
	for {
		err := ask()
		if err == nil {
			return nil
		}
		if errors.As(err, &fatal{}) {
			return fmt.Errorf("waiting for %s: %w", what, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w; the last answer was: %w", what, context.Cause(ctx), err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
