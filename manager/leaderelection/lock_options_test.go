package leaderelection

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/recorder/record"
)

func TestAManagersLockIsALeaseWithANameOfItsOwn(t *testing.T) {
	options := Options{LeaderElection: true, LeaderElectionID: "it",
		LeaderElectionNamespace: "shop", RenewDeadline: 10 * time.Second}
	config := &rest.Config{Host: "http://nowhere"}
	first, err := NewResourceLock(config, nil, options)
	require.NoError(t, err)
	second, err := NewResourceLock(config, nil, options)
	require.NoError(t, err)
	require.Equal(t, "shop/it", first.Describe())
	host, err := os.Hostname()
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(first.Identity(), host+"_"))
	require.NotEqual(t, first.Identity(), second.Identity(),
		"a Pod that is restarted is another replica")
	require.Zero(t, config.Timeout, "the user's configuration was changed")
	require.Empty(t, config.UserAgent)

	none, err := NewResourceLock(config, nil, Options{})
	require.NoError(t, err)
	require.Nil(t, none, "no leader election is wanted")
}

func TestAManagersLockNeedsANameAndAKnownType(t *testing.T) {
	config := &rest.Config{Host: "http://nowhere"}
	for _, c := range []struct {
		options Options
		says    string
	}{
		{Options{LeaderElection: true}, "LeaderElectionID is missing"},
		{Options{LeaderElection: true, LeaderElectionID: "it", LeaderElectionNamespace: "a",
			LeaderElectionResourceLock: "configmaps"},
			`no lock of type "configmaps": use "leases"`},
	} {
		_, err := NewResourceLock(config, nil, c.options)
		require.ErrorContains(t, err, c.says)
	}
}

func TestInAPodTheNamespaceIsThePods(t *testing.T) {
	file := filepath.Join(t.TempDir(), "namespace")
	require.NoError(t, os.WriteFile(file, []byte("shop\n"), 0o600))
	namespace, err := podNamespace(file)
	require.NoError(t, err)
	require.Equal(t, "shop", namespace)
	_, err = podNamespace(file + "-missing")
	require.ErrorContains(t, err, "LeaderElectionNamespace is needed")
	_, err = podNamespace(filepath.Dir(file))
	require.ErrorContains(t, err, "set LeaderElectionNamespace")
}

// This test may run in a Pod or not.
func TestWithoutANamespaceTheLockIsInThePodsOrNowhere(t *testing.T) {
	namespace, notInAPod := podNamespace(namespaceFile)
	lock, err := NewResourceLock(&rest.Config{Host: "http://nowhere"}, nil,
		Options{LeaderElection: true, LeaderElectionID: "it"})
	if notInAPod != nil {
		require.EqualError(t, err, "leader election: "+notInAPod.Error())
		return
	}
	require.NoError(t, err)
	require.Equal(t, namespace+"/it", lock.Describe())
}

type recorders struct{ written *[]string }

func (r recorders) GetEventRecorderFor(string) record.EventRecorder { return r }

func (recorders) Event(runtime.Object, string, string, string) {}

func (recorders) AnnotatedEventf(runtime.Object, map[string]string, string, string, string,
	...any) {
}

func (r recorders) Eventf(object runtime.Object, _, reason, message string, args ...any) {
	lease := object.(metav1.Object)
	*r.written = append(*r.written,
		object.GetObjectKind().GroupVersionKind().Kind+" "+lease.GetName()+" "+reason+": "+args[1].(string))
	if lease.GetUID() == "" {
		*r.written = append(*r.written, "an event without a UID is not shown by kubectl describe")
	}
}

// kubectl describe shows who led when; and labels say which release of a program leads.
func TestEventsAndLabelsAreOnTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(fakeapi.Options{})
		defer server.Close()
		var events []string
		lock, err := NewResourceLock(server.Config(), recorders{&events}, Options{
			LeaderElection: true, LeaderElectionID: "it", LeaderElectionNamespace: "default", LeaderLabels: map[string]string{"release": "7"}})
		require.NoError(t, err)
		s := &stand{T: t, server: server, clients: kubernetes.NewForConfigOrDie(server.Config())}
		_, err = s.clients.CoordinationV1().Leases("default").Create(t.Context(),
			newLease(map[string]string{"release": "6", "other": "stays"}), metav1.CreateOptions{})
		require.NoError(t, err)
		m := s.join("", withRelease, func(c *LeaderElectionConfig) { c.Lock = lock })
		<-m.started
		lease, err := s.clients.CoordinationV1().Leases("default").Get(t.Context(), "it",
			metav1.GetOptions{})
		require.NoError(t, err)
		require.Equal(t, map[string]string{"release": "7", "other": "stays"}, lease.Labels)
		time.Sleep(time.Minute)
		require.Len(t, events, 1, "a renewal is no event")
		s.end(m)
		require.Equal(t, []string{"Lease it LeaderElection: became leader",
			"Lease it LeaderElection: stopped leading"}, events)

		m = s.join("", func(c *LeaderElectionConfig) { c.Lock = lock })
		<-m.started
		s.end(m)
		require.Len(t, events, 4, "a leader that keeps its lock has stopped, too")
	})
}

// A connection that hangs must not cost the lock, so a request may take a part of RenewDeadline
// only; but not less than what a slow server needs.
func TestARequestOfAManagersLockIsBounded(t *testing.T) {
	for _, c := range []struct{ deadline, takes time.Duration }{
		{10 * time.Second, 5 * time.Second}, {3 * time.Second,
			1500 * time.Millisecond}, {time.Second, time.Second}, {0, time.Hour},
	} {
		synctest.Test(t, func(t *testing.T) {
			server := fakeapi.New(fakeapi.Options{})
			defer server.Close()
			server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "leases"}, Hang: true})
			config := server.Config()
			config.UserAgent = "shop"
			lock, err := NewResourceLock(config, nil,
				Options{LeaderElection: true, LeaderElectionID: "it",
					LeaderElectionNamespace: "default", RenewDeadline: c.deadline})
			require.NoError(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			began := time.Now()
			_, _, err = lock.Get(ctx)
			require.Error(t, err)
			require.Equal(t, c.takes, time.Since(began))
			requests := server.Requests(fakeapi.Match{Resource: "leases"})
			require.Len(t, requests, 1)
			require.Equal(t, "shop/leader-election", requests[0].UserAgent,
				"the server's log says whose requests they are, and tells them from the controllers'")
		})
	}
}

func TestALockForAServerThatCannotBeIsRefused(t *testing.T) {
	_, err := NewResourceLock(&rest.Config{Host: "://"}, nil,
		Options{LeaderElection: true, LeaderElectionID: "it", LeaderElectionNamespace: "default"})
	require.ErrorContains(t, err, "leader election: making a client")
}

func newLease(labels map[string]string) *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "it", Labels: labels}}
}
