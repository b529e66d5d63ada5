package hostile_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/loopwright/loopwright/internal/tests/hostile"
	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/leaderelection"
	"github.com/loopwright/loopwright/manager/leaderelection/resourcelock"
	"github.com/loopwright/loopwright/mini"
)

// leaders checks that no two processes work at the same time.
type leaders struct {
	w       *world
	mu      sync.Mutex // guards the rest
	working []string
}

func newLeaders(w *world) *leaders {
	w.leaders = &leaders{w: w}
	return w.leaders
}

// work is what the leader does until its context ends.
func (l *leaders) work(ctx context.Context, who string) {
	l.mu.Lock()
	l.working = append(l.working, who)
	if len(l.working) > 1 {
		l.w.breaks("two leaders work at the same time: %v", l.working)
	}
	l.mu.Unlock()
	<-ctx.Done()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.working = slices.DeleteFunc(l.working, func(other string) bool { return other == who })
}

// processes run two electors. An elector ends when it has lost the lease: that's its contract, and
// the process that it's in is started again by its kubelet.
func (l *leaders) processes(elect func(ctx context.Context, who string) error) {
	for _, who := range []string{"a", "b"} {
		l.w.parts.Go(func() {
			for n := 0; l.w.ctx.Err() == nil; n++ {
				err := elect(l.w.ctx, who+strconv.Itoa(n))
				l.w.say(fmt.Sprint("elector: ", err))
				select {
				case <-l.w.ctx.Done():
				case <-time.After(2 * time.Second):
				}
			}
		})
	}
}

const leaseName = "leader"

// electing: one of two processes leads, and in the end, one does. After a backup, the leader ends.
var electing = story{
	kinds: lists(&coordinationv1.LeaseList{}),
	lost: func(w *world) {
		w.Network.Begin(hostile.Attack{
			Fault: hostile.Find("text503"), On: hostile.Everything, For: 20 * time.Second,
		})
	},
	during: func(*world) {},
	after:  func(*world) {},
	state: func(w *world) string {
		l := w.leaders
		l.mu.Lock()
		defer l.mu.Unlock()
		return fmt.Sprintln("leaders:", len(l.working))
	},
}

func startElectors(w *world) {
	l := newLeaders(w)
	l.processes(func(ctx context.Context, who string) error {
		api, err := kubernetes.NewForConfig(w.config())
		require.NoError(w, err)
		elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
			Lock: &resourcelock.LeaseLock{
				LeaseMeta:  metav1.ObjectMeta{Namespace: "default", Name: leaseName},
				Client:     api.CoordinationV1(),
				LockConfig: resourcelock.ResourceLockConfig{Identity: who},
			},
			LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second,
			RetryPeriod: 2 * time.Second, Recorder: w.Trace, Name: leaseName,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(ctx context.Context) { l.work(ctx, who) },
				OnStoppedLeading: func() {},
			},
		})
		require.NoError(w, err)
		return elector.Elect(ctx)
	})
}

func startMiniElectors(w *world) {
	l := newLeaders(w)
	cluster := w.miniCluster()
	l.processes(func(ctx context.Context, who string) error {
		elector := &mini.Elector{
			Client: &mini.Client{Cluster: cluster}, Identity: who,
			Lease: mini.Request{Namespace: "default", Name: leaseName},
		}
		return elector.Run(ctx, func(ctx context.Context) error {
			l.work(ctx, who)
			return nil
		})
	})
}

// writing: a program writes ConfigMaps and the status of a Pod through the client of a manager, and
// reads each write back from the cache at once. It tries again what has failed.
var writing = story{
	kinds:  lists(&corev1.ConfigMapList{}),
	before: func(w *world) { w.create(pod("p"), configMap("kept")) },
	lost:   func(w *world) { close(w.lose) },
	during: func(w *world) { close(w.begin) },
	after: func(w *world) {
		if w.isRewound() {
			time.Sleep(12 * time.Minute) // by then, an informer has listed again
			close(w.again)
			time.Sleep(time.Minute)
		}
	},
	state: dump(lists(&corev1.ConfigMapList{}, &corev1.PodList{})),
}

// startClient starts the program.
func startClient(w *world) {
	mgr := newManager(w)
	require.NoError(w, mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		// The informers run before the fault.
		for _, list := range []client.ObjectList{&corev1.ConfigMapList{}, &corev1.PodList{}} {
			if err := mgr.GetClient().List(ctx, list); err != nil {
				return err
			}
		}
		p := &program{w: w, cached: mgr.GetClient(), live: mgr.GetAPIReader()}
		for lose := w.lose; ctx.Err() == nil; {
			select {
			case <-ctx.Done():
			case <-lose:
				p.round(ctx, "lost", false)
				p.round(ctx, "lost-and-deleted", true)
				lose = nil
			case <-w.begin:
				for i := range 4 {
					p.round(ctx, fmt.Sprint("made-", i), i%2 == 0)
				}
				select {
				case <-ctx.Done():
				case <-w.again:
					p.isStrict = true
					p.round(ctx, "late", true)
				}
				<-ctx.Done()
			}
		}
		return nil
	})))
	w.run(mgr.Start)
}

// program writes, and reads what it has written.
type program struct {
	w      *world
	cached client.Client
	live   client.Reader
	// isStrict: after the server was restored, the client's reads may lack its writes until its
	// informers have listed again, and from then on they mustn't.
	isStrict bool
}

// breaks notes a read that lacks a write.
func (p *program) breaks(format string, args ...any) {
	if p.isStrict || !p.w.isRewound() {
		p.w.breaks(format, args...)
	}
}

// round creates a ConfigMap, changes it twice, and deletes it if it's told to.
func (p *program) round(ctx context.Context, name string, deletes bool) {
	key := client.ObjectKeyFromObject(configMap(name))
	p.persist(ctx, func() error {
		made := configMap(name)
		err := p.cached.Create(ctx, made)
		if apierrors.IsAlreadyExists(err) {
			return nil // the answer was lost
		}
		return p.shows(ctx, made, err)
	})
	p.persist(ctx, func() error {
		read := configMap(name)
		if err := p.live.Get(ctx, key, read); err != nil {
			return err
		}
		setData("updated")(read)
		return p.shows(ctx, read, p.cached.Update(ctx, read))
	})
	p.persist(ctx, func() error {
		read := configMap(name)
		patch := client.RawPatch(types.MergePatchType, []byte(`{"data":{"patched":"yes"}}`))
		return p.shows(ctx, read, p.cached.Patch(ctx, read, patch))
	})
	p.persist(ctx, func() error {
		read := pod("p")
		if err := p.live.Get(ctx, client.ObjectKeyFromObject(read), read); err != nil {
			return err
		}
		read.Status.Message = name
		return p.shows(ctx, read, p.cached.Status().Update(ctx, read))
	})
	if !deletes {
		return
	}
	p.persist(ctx, func() error {
		err := p.cached.Delete(ctx, configMap(name))
		if client.IsAbsent(err, key) {
			return nil // the answer was lost
		}
		if err == nil && p.cached.Get(ctx, key, configMap(name)) == nil {
			p.breaks("the client deleted %s, and the cache shows it", name)
		}
		return err
	})
}

// persist repeats a step until it succeeds.
func (p *program) persist(ctx context.Context, step func() error) {
	for ctx.Err() == nil {
		err := step()
		if err == nil {
			return
		}
		p.w.say(err.Error())
		select {
		case <-ctx.Done():
		case <-time.After(2 * time.Second):
		}
	}
}

// shows checks that the cache shows a write that has succeeded.
func (p *program) shows(ctx context.Context, written client.Object, err error) error {
	if err != nil {
		return err
	}
	read := written.DeepCopyObject().(client.Object)
	switch err := p.cached.Get(ctx, client.ObjectKeyFromObject(written), read); {
	case apierrors.IsNotFound(err):
		p.breaks("the client wrote %s, and the cache says %v", describe(written), err)
		return nil
	case err != nil:
		p.w.say(err.Error()) // it can't tell, and says so
		return nil
	}
	if versionOf(read) < versionOf(written) {
		p.breaks("the client wrote version %s of %s, and the cache shows version %s",
			written.GetResourceVersion(), describe(written), read.GetResourceVersion())
	}
	return nil
}

func versionOf(o client.Object) int {
	version, _ := strconv.Atoi(o.GetResourceVersion())
	return version
}
