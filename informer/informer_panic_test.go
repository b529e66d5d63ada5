package informer

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// crashVariable says, in the environment of a process of its own, how the handler is
// to end there.
const crashVariable = "LOOPWRIGHT_TEST_CRASH"

// A handler that panics has lost a change: a controller that goes on with it looks
// healthy, and never does what the change asked for. A process that crashes starts
// over with a complete list.
func TestAPanicOfAHandlerCrashesTheProcess(t *testing.T) {
	if how := os.Getenv(crashVariable); how != "" {
		endHandler(how)
		return
	}
	for _, c := range []struct {
		name, how string
		output    []string
	}{
		{"by default", "panic", []string{"panic: a bug", "ERROR a handler panicked", "handler=buggy", "object=shop/web", "endHandler"}},
		{"after it was reported", "panic, reported", []string{"reported: buggy shop/web a bug", "panic: a bug", "endHandler"}},
		{"if the handler ends its goroutine", "goexit", []string{"panic: the handler ended its goroutine", "handler=buggy"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			output, err := runSelf(t, c.how)
			var exit *exec.ExitError
			require.ErrorAs(t, err, &exit, "the process goes on without the change; it said: %s", output)
			require.Equal(t, 2, exit.ExitCode(), "it did not crash by a panic: %s", output)
			for _, part := range c.output {
				require.Contains(t, output, part)
			}
			require.NotContains(t, output, "the handler is done")
			require.Equal(t, c.how == "goexit", strings.Contains(output, errGoexit.Error()), "who reads the report must learn which of the two it was: %s", output)
		})
	}
}

func TestAPanicIsSurvivedByThoseWhoAskForIt(t *testing.T) {
	for _, how := range []string{"panic, recovered", "goexit, recovered"} {
		t.Run(how, func(t *testing.T) {
			output, err := runSelf(t, how)
			require.NoError(t, err, output)
			require.Contains(t, output, "the handler is done")
			require.Contains(t, output, "handler=buggy", "a panic that is survived must be reported")
		})
	}
}

// runSelf runs the test of the crash in a process of its own.
func runSelf(t *testing.T, how string) (output string, err error) {
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAPanicOfAHandlerCrashesTheProcess$", "-test.short")
	command.Env = append(os.Environ(), crashVariable+"="+how)
	combined, err := command.CombinedOutput()
	return string(combined), err
}

// endHandler runs an informer with one object, and a handler that ends as it is told to.
func endHandler(how string) {
	options := InformerOptions[*corev1.Pod]{RecoverPanics: how == "panic, recovered" || how == "goexit, recovered"}
	if how == "panic, reported" {
		options.OnPanic = func(p HandlerPanic) { fmt.Println("reported:", p.Handler, p.Key, p.Value) }
	}
	i := NewInformer[*corev1.Pod](nil, options) // its queue is filled by hand
	registration, err := i.AddHandler(HandlerFuncs[*corev1.Pod]{Add: func(*corev1.Pod, bool) {
		if how == "goexit" || how == "goexit, recovered" {
			runtime.Goexit()
		}
		panic("a bug")
	}}, HandlerOptions{Name: "buggy"})
	if err != nil {
		panic(err)
	}
	i.queue.Replace([]*corev1.Pod{podAt("a", "1")}, "1")
	ctx, cancel := context.WithCancel(context.Background())
	var running, listeners sync.WaitGroup
	running.Go(func() { i.loop(ctx, &listeners) })
	if how == "panic, recovered" {
		<-registration.Synced() // the call has ended, and the listener goes on
	} else {
		<-registration.Done()
	}
	fmt.Println("the handler is done")
	cancel()
	running.Wait()
	listeners.Wait()
}
