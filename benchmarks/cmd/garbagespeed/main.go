// Command garbagespeed measures our garbage collector beside Kubernetes' own: the memory that an object takes, and the
// processor time until all objects are known, and until the dependents of a part of the owners are deleted.
//
//	go run ./cmd/garbagespeed -control-plane FILE [-objects 100000]
//
// Both run as processes of their own on an API server in memory, which is another process. 1 of 100 objects is an owner,
// the others are its dependents, half of them custom resources, of which both read only the metadata, or all Pods. The
// original reads Pods whole, with informers that it shares with the other controllers of kube-controller-manager.
//
// The memory is the live heap after a collection that Go's runtime forces, which it does every two minutes, less that of a
// process without objects. The processor time is what Linux has counted.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/internal/fakeapi"
)

func main() {
	controlPlane := flag.String("control-plane", "", "the binary that has kube-controller-manager: `make cluster-up` builds it")
	objects := flag.Int("objects", 100_000, "how many")
	flag.Parse()
	if err := run(*controlPlane, *objects); err != nil {
		fmt.Fprintln(os.Stderr, "garbagespeed:", err)
		os.Exit(1)
	}
}

func run(controlPlane string, objects int) (err error) {
	dir, err := os.MkdirTemp("", "loopwright-garbage-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	b := &bench{dir: dir, controlPlane: controlPlane, program: filepath.Join(dir, "program")}
	build := exec.Command("go", "build", "-o", b.program, "github.com/loopwright/loopwright/benchmarks/cmd/garbagespeed/program")
	if output, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building our garbage collector: %w\n%s", err, output)
	}
	empty := map[string]float64{}
	for _, who := range []string{theirs, ours} {
		m, err := b.measure(who, "widgets", 0)
		if err != nil {
			return err
		}
		empty[who] = m.heapMB
		fmt.Printf("no objects: %-7s %5.0f MB live\n", who, m.heapMB)
	}
	for _, kind := range []string{"widgets", "pods"} {
		for _, who := range []string{theirs, ours} {
			m, err := b.measure(who, kind, objects)
			if err != nil {
				return err
			}
			fmt.Printf("%d %s: %-7s %5.0f bytes an object, %5.1f s of processor time until all are known, %5.1f s for %d deletions (%v)\n",
				objects, kind, who, (m.heapMB-empty[who])*(1<<20)/float64(objects), m.known.Seconds(), m.deleted.Seconds(), m.deletions,
				m.time.Round(100*time.Millisecond))
		}
	}
	return nil
}

const (
	theirs = "theirs"
	ours   = "ours"
)

type bench struct{ dir, controlPlane, program string }

type measured struct {
	heapMB         float64
	known, deleted time.Duration // of processor time
	deletions      int
	time           time.Duration // until the deletions were done
}

// measure runs one side on a server with this many objects.
func (b *bench) measure(who, kind string, objects int) (m measured, err error) {
	server := fakeapi.New(fakeapi.Options{
		NoManagedFields: true, NoLog: true, History: 1_000_000,
		Kinds: []fakeapi.Kind{{Group: "shop.example.com", Version: "v1", Kind: "Widget"}},
	})
	defer server.Close()
	owners, err := load(server, kind, objects)
	if err != nil {
		return m, err
	}
	var deletions atomic.Int64
	server.Inject(fakeapi.Fault{
		Match: fakeapi.Match{Verb: "delete", Resource: kind}, OnHit: func(fakeapi.Request) { deletions.Add(1) },
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return m, err
	}
	web := &http.Server{Handler: server}
	go func() { _ = web.Serve(listener) }()
	defer func() { _ = web.Close() }()
	p, err := b.start(who, "http://"+listener.Addr().String())
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	if m.known, err = p.rests(); err != nil {
		return m, err
	}
	if m.heapMB, err = p.liveHeap(); err != nil {
		return m, err
	}
	before, err := p.cpu()
	if err != nil {
		return m, err
	}
	gone := owners[:len(owners)/10]
	begin := time.Now()
	for _, path := range gone {
		request, err := http.NewRequest(http.MethodDelete, "http://"+listener.Addr().String()+path, nil)
		if err != nil {
			return m, err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return m, err
		}
		_ = response.Body.Close()
	}
	m.deletions = 99 * len(gone)
	for int(deletions.Load()) < m.deletions+len(gone) {
		if time.Since(begin) > 10*time.Minute {
			return m, fmt.Errorf("%s has deleted %d of %d", who, deletions.Load(), m.deletions)
		}
		time.Sleep(100 * time.Millisecond)
	}
	m.time = time.Since(begin)
	rest, err := p.rests()
	m.deleted = rest - before
	return m, err
}

// load loads the objects, and returns the paths of the owners.
func load(server *fakeapi.Server, kind string, objects int) (owners []string, err error) {
	resource := schema.GroupVersionResource{Group: "shop.example.com", Version: "v1", Resource: "widgets"}
	api, path := "shop.example.com/v1", "/apis/shop.example.com/v1/namespaces/default/widgets/"
	if kind == "pods" {
		resource = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
		api, path = "v1", "/api/v1/namespaces/default/pods/"
	}
	for n := range objects {
		meta := metav1.ObjectMeta{
			Namespace: "default", Name: fmt.Sprintf("web-5d4f8c7b9-%06d", n), UID: types.UID(fmt.Sprintf("00000000-0000-0000-0000-%012d", n)),
			Labels:      map[string]string{"app": "web", "pod-template-hash": "5d4f8c7b9", "team": "shop"},
			Annotations: map[string]string{"example.com/note": "this is what is written into annotations in most clusters, more or less"},
		}
		if n%100 == 0 {
			owners = append(owners, path+meta.Name)
		} else {
			kindName := map[string]string{"widgets": "Widget", "pods": "Pod"}[kind]
			owner := n - n%100
			meta.OwnerReferences = []metav1.OwnerReference{{
				APIVersion: api, Kind: kindName, Name: fmt.Sprintf("web-5d4f8c7b9-%06d", owner), UID: types.UID(fmt.Sprintf("00000000-0000-0000-0000-%012d", owner)),
				Controller: new(true), BlockOwnerDeletion: new(true),
			}}
		}
		if _, err := server.Load(resource, object(kind, meta)); err != nil {
			return nil, err
		}
	}
	return owners, nil
}

func object(kind string, meta metav1.ObjectMeta) runtime.Object {
	if kind == "pods" {
		return &corev1.Pod{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: meta,
			Spec: corev1.PodSpec{Containers: []corev1.Container{{
				Name: "web", Image: "registry.example.com/shop/web:1.2.3",
				Env:   []corev1.EnvVar{{Name: "PORT", Value: "8080"}, {Name: "LEVEL", Value: "info"}},
				Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}},
			}}},
			Status: corev1.PodStatus{Phase: corev1.PodPending},
		}
	}
	widget := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "shop.example.com/v1", Kind: "Widget"}, ObjectMeta: meta}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(widget)
	if err != nil {
		panic(err) // it is our own type
	}
	content["spec"] = map[string]any{"size": int64(1)}
	return &unstructured.Unstructured{Object: content}
}

// process is a running garbage collector.
type process struct {
	*exec.Cmd
	log string
}

func (b *bench) start(who, server string) (*process, error) {
	kubeconfig := filepath.Join(b.dir, "kubeconfig")
	content := fmt.Sprintf("{apiVersion: v1, kind: Config, clusters: [{name: c, cluster: {server: %q}}], contexts: [{name: x, context: {cluster: c}}], current-context: x}", server)
	if err := os.WriteFile(kubeconfig, []byte(content), 0o600); err != nil {
		return nil, err
	}
	command := exec.CommandContext(context.Background(), b.program, kubeconfig)
	if who == theirs {
		command = exec.Command(b.controlPlane, "kube-controller-manager", "--kubeconfig="+kubeconfig, "--controllers=garbage-collector-controller",
			"--leader-elect=false", "--secure-port=0", "--kube-api-qps=100000", "--kube-api-burst=100000", "--concurrent-gc-syncs=20")
	}
	p := &process{command, filepath.Join(b.dir, who+".log")}
	log, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	command.Stdout, command.Stderr, command.Dir, command.Env = log, log, b.dir, append(os.Environ(), "GODEBUG=gctrace=1")
	return p, command.Start()
}

func (p *process) stop() error {
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	_ = p.Wait() // kube-controller-manager ends with an error when it is told to end
	return nil
}

// cpu is the processor time that the process has used.
func (p *process) cpu() (used time.Duration, err error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("reading what a process has used: %w", err)
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	for _, field := range strings.Fields(after)[11:13] { // utime and stime, in ticks of 10 ms
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, err
		}
		used += time.Duration(ticks) * 10 * time.Millisecond
	}
	return used, nil
}

// rests waits until the process has done almost nothing for eight seconds, and returns the processor time before.
func (p *process) rests() (used time.Duration, err error) {
	quiet := 0
	for last := time.Duration(-time.Hour); quiet < 8; time.Sleep(time.Second) {
		now, err := p.cpu()
		if err != nil {
			return 0, err
		}
		if quiet++; now-last > 50*time.Millisecond {
			quiet, used = 0, now
		}
		last = now
	}
	return used, nil
}

// What GODEBUG=gctrace=1 writes: that a collection is forced, and in the next line, how many MB it has left.
var leaves = regexp.MustCompile(`->(\d+) MB, `)

// liveHeap waits for the next collection that the runtime forces, in MB.
func (p *process) liveHeap() (float64, error) {
	before, err := p.forced()
	for end := time.Now().Add(5 * time.Minute); err == nil && time.Now().Before(end); time.Sleep(time.Second) {
		now, err := p.forced()
		if err == nil && len(now) > len(before) {
			return strconv.ParseFloat(now[len(now)-1], 64)
		}
	}
	return 0, errors.Join(err, errors.New("the runtime has forced no collection"))
}

func (p *process) forced() (all []string, err error) {
	file, err := os.Open(p.log)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	isForced := false
	for lines := bufio.NewScanner(file); lines.Scan(); {
		found := leaves.FindStringSubmatch(lines.Text())
		if isForced && found != nil {
			all = append(all, found[1])
			isForced = false
		}
		isForced = isForced || lines.Text() == "GC forced"
	}
	return all, nil
}
