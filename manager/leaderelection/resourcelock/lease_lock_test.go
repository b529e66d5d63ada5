package resourcelock

import (
	"fmt"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/tests/hostile"
)

func inServer(t *testing.T, f func(t *testing.T, server *fakeapi.Server)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(fakeapi.Options{})
		defer server.Close()
		f(t, server)
	})
}

func twoLocks(t *testing.T, f func(t *testing.T, a, b Interface)) {
	t.Helper()
	inServer(t, func(t *testing.T, server *fakeapi.Server) {
		lock := func(identity string) Interface {
			lock, err := NewFromKubeconfig(LeasesResourceLock, "default", "it",
				ResourceLockConfig{Identity: identity}, server.Config(), 10*time.Second)
			require.NoError(t, err)
			return lock
		}
		f(t, lock("a"), lock("b"))
	})
}

func record(holder string) LeaderElectionRecord {
	return LeaderElectionRecord{HolderIdentity: holder, LeaseDurationSeconds: 15,
		LeaderTransitions: 3,
		AcquireTime: metav1.Time{Time: time.Unix(1e9,
			1000).UTC()}, RenewTime: metav1.Time{Time: time.Unix(2e9, 2000).UTC()}}
}

// Without it, two replicas that see an old record take the lock one after the other, and both
// believe to have it.
func TestAnUpdateFailsIfSomebodyElseHasWritten(t *testing.T) {
	twoLocks(t, func(t *testing.T, a, b Interface) {
		_, _, err := a.Get(t.Context())
		require.True(t, apierrors.IsNotFound(err), "the elector has to know this error: %v", err)
		require.ErrorContains(t, b.Update(t.Context(), record("b")), "call Get or Create first")
		require.NoError(t, a.Create(t.Context(), record("a")))
		require.Error(t, b.Create(t.Context(), record("b")))
		_, _, err = b.Get(t.Context())
		require.NoError(t, err)
		require.NoError(t, a.Update(t.Context(), record("a")))
		changed := record("a")
		changed.LeaderTransitions = 9
		require.NoError(t, a.Update(t.Context(), changed))
		changed.LeaderTransitions = 10
		require.NoError(t, a.Update(t.Context(), changed),
			"what it has written itself is no obstacle")
		require.Error(t, b.Update(t.Context(), record("b")))
		require.Error(t, b.Update(t.Context(), record("b")),
			"an update that failed must not count as read")
	})
}

// The server may be away for a moment. A leader that forgets then what it has is refused until it
// reads again.
func TestARequestThatFailsChangesNothingOfWhatIsKnown(t *testing.T) {
	inServer(t, func(t *testing.T, server *fakeapi.Server) {
		a, err := NewFromKubeconfig(LeasesResourceLock, "default", "it",
			ResourceLockConfig{Identity: "a"}, server.Config(), time.Second)
		require.NoError(t, err)
		away := func(do func() error) {
			heal := server.Inject(fakeapi.Fault{Status: fakeapi.InternalError()})
			defer heal()
			require.Error(t, do())
		}
		away(func() error { return a.Create(t.Context(), record("a")) })
		require.ErrorContains(t, a.Update(t.Context(), record("a")), "call Get or Create first")
		require.NoError(t, a.Create(t.Context(), record("a")))
		away(func() error { return a.Update(t.Context(), record("a")) })
		away(func() error { _, _, err := a.Get(t.Context()); return err })
		require.NoError(t, a.Update(t.Context(), record("a")))
	})
}

// A renewal in the same second must be seen as one.
func TestARecordComesBackAsItWasWritten(t *testing.T) {
	twoLocks(t, func(t *testing.T, a, b Interface) {
		written := record("a")
		written.Strategy, written.PreferredHolder = "OldestEmulationVersion", "b"
		require.NoError(t, a.Create(t.Context(), written))
		read, raw, err := b.Get(t.Context())
		require.NoError(t, err)
		require.True(t, read.RenewTime.Equal(&written.RenewTime), "%s is not %s", read.RenewTime,
			written.RenewTime)
		require.True(t, read.AcquireTime.Equal(&written.AcquireTime))
		read.RenewTime, read.AcquireTime = written.RenewTime, written.AcquireTime
		require.Equal(t, written, *read)
		written.RenewTime.Time = written.RenewTime.Add(time.Microsecond)
		require.NoError(t, a.Update(t.Context(), written))
		_, later, err := b.Get(t.Context())
		require.NoError(t, err)
		require.NotEqual(t, raw, later)
		require.Equal(t, "default/it", a.Describe())
		require.Equal(t, "a", a.Identity())
		a.RecordEvent("nobody listens")
	})
}

// Somebody has made the Lease by hand.
func TestALeaseWithoutFieldsIsAnEmptyRecord(t *testing.T) {
	spec := LeaderElectionRecordToLeaseSpec(&LeaderElectionRecord{})
	require.Equal(t, &LeaderElectionRecord{}, LeaseSpecToLeaderElectionRecord(&spec))
	require.Equal(t, &LeaderElectionRecord{},
		LeaseSpecToLeaderElectionRecord(&coordinationv1.LeaseSpec{}))
	require.Nil(t, spec.Strategy, "the API server refuses one that is empty")
	require.Nil(t, spec.PreferredHolder, "the same")
}

// Somebody who looks at the Lease wants to know which release leads, and has labels of his own
// there.
func TestTheHolderPutsItsLabelsOntoTheLeaseAndLeavesTheOthers(t *testing.T) {
	inServer(t, func(t *testing.T, server *fakeapi.Server) {
		leases := kubernetes.NewForConfigOrDie(server.Config()).CoordinationV1()
		labelled := func(labels map[string]string) Interface {
			lock, err := NewWithLabels(LeasesResourceLock, "default", "it", nil, leases,
				ResourceLockConfig{Identity: "a"}, labels)
			require.NoError(t, err)
			return lock
		}
		labels := func() map[string]string {
			lease, err := leases.Leases("default").Get(t.Context(), "it", metav1.GetOptions{})
			require.NoError(t, err)
			return lease.Labels
		}
		take := func(lock Interface) {
			_, _, err := lock.Get(t.Context())
			require.NoError(t, err)
			require.NoError(t, lock.Update(t.Context(), record("a")))
		}
		plain, err := New(LeasesResourceLock, "default", "it", nil, leases,
			ResourceLockConfig{Identity: "a"})
		require.NoError(t, err)
		require.NoError(t, plain.Create(t.Context(), record("a")))
		require.NoError(t, plain.Update(t.Context(), record("a")))
		require.Empty(t, labels())
		take(labelled(map[string]string{"release": "1"}))
		require.Equal(t, map[string]string{"release": "1"}, labels())
		take(labelled(map[string]string{"release": "1", "team": "blue"}))
		take(labelled(map[string]string{"release": "2"}))
		take(plain)
		require.Equal(t, map[string]string{"release": "2", "team": "blue"}, labels())

		require.NoError(t, leases.Leases("default").Delete(t.Context(), "it",
			metav1.DeleteOptions{}))
		require.NoError(t, labelled(map[string]string{"release": "3"}).Create(t.Context(),
			record("a")))
		require.Equal(t, map[string]string{"release": "3"}, labels())
	})
}

// eventsOf writes down events.
type eventsOf struct{ subjects, texts []string }

func (e *eventsOf) Eventf(obj runtime.Object, eventType, reason, message string, args ...any) {
	lease := obj.(*coordinationv1.Lease)
	e.subjects = append(e.subjects,
		fmt.Sprintf("%s %s/%s, UID: %v", lease.GroupVersionKind(), lease.Namespace, lease.Name,
			lease.UID != ""))
	e.texts = append(e.texts, eventType+" "+reason+" "+fmt.Sprintf(message, args...))
}

// kubectl describe shows the events of an object by its UID.
func TestAnEventIsAboutTheLeaseAsFarAsItIsKnown(t *testing.T) {
	inServer(t, func(t *testing.T, server *fakeapi.Server) {
		var events eventsOf
		lock, err := NewFromKubeconfig(LeasesResourceLock, "default", "it",
			ResourceLockConfig{Identity: "a", EventRecorder: &events}, server.Config(), time.Second)
		require.NoError(t, err)
		lock.RecordEvent("waits")
		require.NoError(t, lock.Create(t.Context(), record("a")))
		lock.RecordEvent("became leader")
		lease := "coordination.k8s.io/v1, Kind=Lease default/it, UID: "
		require.Equal(t, []string{lease + "false", lease + "true"}, events.subjects)
		require.Equal(t, []string{"Normal LeaderElection a waits",
			"Normal LeaderElection a became leader"}, events.texts)
	})
}

// A request that hangs must leave time for another one before the lock is lost.
func TestARequestMayTakeHalfOfTheRenewDeadline(t *testing.T) {
	for _, c := range []struct {
		renewDeadline,
		want time.Duration
	}{{10 * time.Second, 5 * time.Second}, {time.Second, time.Second}} {
		inServer(t, func(t *testing.T, server *fakeapi.Server) {
			server.Inject(fakeapi.Fault{Delay: time.Hour})
			config := server.Config()
			lock, err := NewFromKubeconfig(LeasesResourceLock, "default", "it",
				ResourceLockConfig{Identity: "a"}, config, c.renewDeadline)
			require.NoError(t, err)
			require.Zero(t, config.Timeout, "the configuration is the caller's")
			begin := time.Now()
			_, _, err = lock.Get(t.Context())
			var timedOut net.Error
			require.ErrorAs(t, err, &timedOut)
			require.True(t, timedOut.Timeout(), "%v", err)
			require.Equal(t, c.want, time.Since(begin))
		})
	}
}

func TestALockThatCannotBeMadeSaysWhy(t *testing.T) {
	_, err := NewFromKubeconfig(LeasesResourceLock, "default", "it", ResourceLockConfig{},
		&rest.Config{Host: "no address!"}, time.Second)
	require.ErrorContains(t, err, "making a client for the Lease default/it")
	_, err = NewFromKubeconfig("endpoints", "default", "it", ResourceLockConfig{}, &rest.Config{},
		time.Second)
	require.ErrorContains(t, err, `there is no lock of type "endpoints": use "leases"`)
}

// A proxy's {} is no renewal: the other replica sees none, and leads as well.
func TestAnEmptyAnswerIsNoLeaseThatWasReadOrWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var network *hostile.Network
		server := fakeapi.New(fakeapi.Options{
			Front: func(http.Handler) http.Handler { return network },
		})
		network = hostile.New(server)
		defer server.Close()
		defer network.Close()
		lock := &LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: "default", Name: "lock"},
			Client:     kubernetes.NewForConfigOrDie(server.Config()).CoordinationV1(),
			LockConfig: ResourceLockConfig{Identity: "a"},
		}
		hit := func(on hostile.Op, request func() error) {
			network.Begin(hostile.Attack{Fault: hostile.Find("braces"), On: on})
			want := "in the answer to a write of"
			if on == hostile.Get {
				want = "the answer isn't the Lease default/lock"
			}
			require.ErrorContains(t, request(), want, on)
		}
		create := func() error { return lock.Create(t.Context(), record("a")) }
		hit(hostile.Create, create)
		require.NoError(t, create())
		hit(hostile.Get, func() error {
			_, _, err := lock.Get(t.Context())
			return err
		})
		hit(hostile.Update, func() error { return lock.Update(t.Context(), record("a")) })
	})
}
