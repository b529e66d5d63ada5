//go:build unix

package takeover

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/cluster/clustertest"
)

func TestMain(m *testing.M) {
	if address := os.Getenv(replicaOf); address != "" {
		os.Exit(replica(address))
	}
	os.Exit(clustertest.Run(m))
}

// patience is for busy machines. Nothing here takes a tenth of it on an idle one.
const patience = 4 * time.Minute

// theater is a real API server, the ConfigMaps that are to be counted, and the processes that do it.
type theater struct {
	*testing.T
	*checker
	live kubernetes.Interface
	api  *httputil.ReverseProxy
	all  []string // the objects
}

const crews, inEach = 24, 2

func newTheater(t *testing.T, config *rest.Config) *theater {
	config.QPS = -1
	live, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	target, err := url.Parse(config.Host)
	require.NoError(t, err)
	w := &theater{T: t, checker: newChecker(), live: live, api: httputil.NewSingleHostReverseProxy(target)}
	w.api.FlushInterval = -1
	w.api.ErrorLog = log.New(io.Discard, "", 0) // that requests were cut off is the story
	w.api.Transport, err = rest.TransportFor(config)
	require.NoError(t, err)
	for n := range crews {
		namespace := fmt.Sprintf("%c-crew", 'a'+n)
		_, err := live.CoreV1().Namespaces().Create(t.Context(),
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
		require.NoError(t, err)
		for i := range inEach {
			name := fmt.Sprint("object-", i)
			_, err := live.CoreV1().ConfigMaps(namespace).Create(t.Context(), &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Name: name, Labels: teamLabel},
				Data:       map[string]string{"number": "0", "wanted": "", "seen": ""},
			}, metav1.CreateOptions{})
			require.NoError(t, err)
			w.all = append(w.all, namespace+"/"+name)
		}
	}
	return w
}

// actor is one process.
type actor struct {
	*theater
	name   string
	desk   *desk
	cmd    *exec.Cmd
	said   *said
	exited chan struct{} // closed when it has
}

// said is what a process has written to its standard error.
type said struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// joins starts a process. It ends with the test: its standard input is closed then, however the test
// ends. If it's stopped at that moment, it's the only one of its process group, and the kernel ends it.
func (w *theater) joins(name string) *actor {
	w.Helper()
	w.Log(name, "joins")
	a := &actor{theater: w, name: name, said: &said{}, exited: make(chan struct{})}
	a.desk = newDesk(w.T, name, w.checker, w.api)
	a.cmd = exec.Command(os.Args[0])
	a.cmd.Env = append(os.Environ(), replicaOf+"="+a.desk.server.URL)
	a.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	a.cmd.Stderr, a.cmd.Stdout = a.said, io.Discard
	stdin, err := a.cmd.StdinPipe()
	require.NoError(w, err)
	require.NoError(w, a.cmd.Start())
	go func() {
		_ = a.cmd.Wait() // its exit code is in ProcessState
		w.dies(name)
		close(a.exited)
	}()
	w.Cleanup(func() {
		_ = stdin.Close()
		_ = a.cmd.Process.Kill() // even if it's stopped
		<-a.exited
		if w.Failed() {
			w.Logf("%s has said:\n%s", name, a.said)
		}
	})
	return a
}

func (a *actor) signal(s syscall.Signal) {
	a.Helper()
	require.NoError(a, a.cmd.Process.Signal(s))
}

// exits waits for the process's end, and returns its exit code; -1 if a signal has ended it.
func (a *actor) exits() int {
	a.Helper()
	select {
	case <-a.exited:
		return a.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		require.FailNow(a, "the process doesn't exit", a.name)
		return 0
	}
}

func (w *theater) eventually(what string, is func() bool) {
	w.Helper()
	for begin := time.Now(); !is(); time.Sleep(20 * time.Millisecond) {
		require.Empty(w, w.found())
		require.Less(w, time.Since(begin), patience, what)
	}
	require.Empty(w, w.found())
}

// works waits until each object has been reconciled again, by one of these processes, and each of
// them has reconciled something again.
func (w *theater) works(by ...*actor) {
	w.Helper()
	begin := time.Now()
	var names []string
	alive := func() {
		w.Helper()
		for _, a := range by {
			select {
			case <-a.exited:
				require.FailNow(w, "a process has ended that should work", a.name)
			default:
			}
		}
	}
	before := map[string]map[string]int{}
	for _, a := range by {
		names = append(names, a.name)
		before[a.name] = w.times(a.name)
	}
	all := w.times(names...)
	w.eventually(fmt.Sprintf("every object is reconciled by one of %v", names), func() bool {
		alive()
		now := w.times(names...)
		for _, object := range w.all {
			if now[object] == all[object] {
				return false
			}
		}
		return true
	})
	for _, a := range by {
		w.eventually(a.name+" has something to do", func() bool {
			alive()
			for object, times := range w.times(a.name) {
				if times > before[a.name][object] {
					return true
				}
			}
			return false
		})
	}
	w.Logf("%v reconcile everything, after %.1f s", names, time.Since(begin).Seconds())
}

// pausesInTheMiddle stops the process while it's inside of objects, when all that these reconciles
// still need to write is an answer of the test, and sends them that answer.
func (a *actor) pausesInTheMiddle() {
	a.Helper()
	release := a.desk.hold()
	a.eventually(a.name+" is inside, and waits", func() bool {
		return !a.isWorking(a.name) && a.isInside()
	})
	a.signal(syscall.SIGSTOP)
	var status syscall.WaitStatus
	_, err := syscall.Wait4(a.cmd.Process.Pid, &status, syscall.WUNTRACED, nil)
	require.NoError(a, err)
	require.True(a, status.Stopped())
	a.pauses(a.name)
	release()
}

// isInside says whether it's inside of some objects, so that there's something to go wrong when it wakes.
func (a *actor) isInside() bool {
	a.desk.mu.Lock()
	defer a.desk.mu.Unlock()
	return len(a.desk.visits) >= 3
}

// wants asks for work in each object, and waits until it's done.
func (w *theater) wants(what string) {
	w.Helper()
	w.usersWrite()
	for _, object := range w.all {
		namespace, name, _ := strings.Cut(object, "/")
		_, err := w.live.CoreV1().ConfigMaps(namespace).Patch(w.Context(), name, "application/merge-patch+json",
			[]byte(`{"data":{"wanted":"`+what+`"}}`), metav1.PatchOptions{})
		require.NoError(w, err)
	}
	w.eventually("what's wanted is seen everywhere", func() bool {
		list, err := w.live.CoreV1().ConfigMaps("").List(w.Context(),
			metav1.ListOptions{LabelSelector: teamLabel.String()})
		if err != nil {
			return false
		}
		for _, object := range list.Items {
			if object.Data["seen"] != what {
				return false
			}
		}
		return len(list.Items) == len(w.all)
	})
}

// Two processes in one object create twice what should be there once. Whatever happens to a process,
// that must not be, and the others must take over.
func TestNoTwoProcessesAreInOneObject(t *testing.T) {
	w := newTheater(t, clustertest.WithGates(t, "ShardedListAndWatch").RESTConfig())
	a := w.joins("a")
	w.works(a)
	b := w.joins("b")
	w.works(a, b)
	c := w.joins("c")
	w.works(a, b, c)
	d := w.joins("d")
	w.works(a, b, c, d)

	t.Log("a leaves")
	a.signal(syscall.SIGTERM)
	require.Zero(t, a.exits(), "it has given everything away")
	w.works(b, c, d)
	e := w.joins("e")
	w.works(b, c, d, e)

	t.Log("b is killed")
	b.signal(syscall.SIGKILL)
	b.exits()
	w.works(c, d, e)

	t.Log("c is paused, and wakes when others have its work")
	c.pausesInTheMiddle()
	w.works(d, e)
	w.retires(c.name)
	c.signal(syscall.SIGCONT)
	require.Equal(t, 1, c.exits(), "its Lease is lost, so it must end")
	require.Contains(t, c.said.String(), "leader election lost")
	t.Logf("%d of its writes were refused", w.ended()[late])
	f := w.joins("f")
	g := w.joins("g")
	w.works(d, e, f, g)

	t.Log("the API server doesn't answer d")
	d.desk.cuts(silent)
	w.works(e, f, g)
	require.Equal(t, 1, d.exits())

	t.Log("e's connections break")
	e.desk.cuts(closed)
	w.works(f, g)
	require.Equal(t, 1, e.exits())

	w.wants("the end")
	for _, a := range []*actor{f, g} {
		a.signal(syscall.SIGTERM)
		require.Zero(t, a.exits())
		require.NotContains(t, a.said.String(), "doesn't select shards")
	}
	require.Empty(t, w.found())
	t.Logf("reconciles by result: %v", w.ended())
}

// Without the gate, each replica receives everything. The user should hear why, once.
func TestProcessesShareTheWorkWithoutTheGate(t *testing.T) {
	w := newTheater(t, clustertest.Config(t))
	a, b := w.joins("a"), w.joins("b")
	w.works(a, b)
	c := w.joins("c")
	w.works(a, b, c)
	b.signal(syscall.SIGKILL)
	b.exits()
	w.works(a, c)
	w.wants("the end")
	for _, a := range []*actor{a, c} {
		a.signal(syscall.SIGTERM)
		require.Zero(t, a.exits())
		require.Equal(t, 1, strings.Count(a.said.String(), "doesn't select shards"))
	}
	require.Empty(t, w.found())
}
