package manager

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/tests/inorder"
	"github.com/loopwright/loopwright/manager/leaderelection"
	"github.com/loopwright/loopwright/manager/leaderelection/resourcelock"
)

// A program may hold a second lease, beside the manager's own.
func TestALockMayHaveAManagersRecorder(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := w.manager(Options{})
		lock, err := leaderelection.NewResourceLock(m.GetConfig(), Manager(m),
			leaderelection.Options{
				LeaderElection: true, LeaderElectionID: "second", LeaderElectionNamespace: "default",
			})
		require.NoError(t, err)
		r := w.start(m)
		require.NoError(t, lock.Create(t.Context(),
			resourcelock.LeaderElectionRecord{HolderIdentity: lock.Identity()}))
		lock.RecordEvent("became leader")
		require.NoError(t, r.end())
		list, err := w.live.CoreV1().Events("default").List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		require.Len(t, list.Items, 1)
		require.Equal(t, lock.Identity()+" became leader", list.Items[0].Message)
		require.Equal(t, lock.Identity(), list.Items[0].Source.Component,
			"as with controller-runtime")
	})
}

// lastRequest is a webhook server that answers a request while it stops.
type lastRequest struct {
	refusingServer
	answer func()
}

func (s *lastRequest) Start(ctx context.Context) error {
	<-ctx.Done()
	s.answer()
	return nil
}

// Somebody whose object was refused looks for the reason in the events.
func TestEventsOfWhatEndsLastAreWritten(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default",
			Name: "one"}}
		var m *controllerManager
		record := func(reason string) {
			m.GetEventRecorder("shop").Eventf(object, nil, corev1.EventTypeWarning, reason, "", "")
		}
		m = w.manager(Options{WebhookServer: &lastRequest{refusingServer{http.NewServeMux()},
			func() {
				record("Refused")
			}}})
		m.GetWebhookServer()
		require.NoError(t, m.groups.addTo(httpServers,
			RunnableFunc(func(ctx context.Context) error {
				record("Started") // before all else
				<-ctx.Done()
				record("Stopped")
				return nil
			})))
		r := w.start(m)
		list := func() (reasons []string) {
			events, err := w.live.EventsV1().Events("default").List(t.Context(),
				metav1.ListOptions{})
			require.NoError(t, err)
			for _, event := range events.Items {
				reasons = append(reasons, event.Reason)
			}
			return reasons
		}
		require.Equal(t, []string{"Started"}, list())
		require.NoError(t, r.end())
		require.ElementsMatch(t, []string{"Started", "Refused", "Stopped"}, list())
	})
}

func TestEventsThatCannotBeWrittenInTimeAreWaitedForAsLongAsTheStopMayTake(t *testing.T) {
	for grace, want := range inorder.Map(map[time.Duration]time.Duration{0: 0,
		3 * time.Second: 3 * time.Second, time.Minute: 5 * time.Second}) {
		inWorld(t, func(t *testing.T, w *world) {
			w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "events"}, Hang: true})
			m := w.manager(Options{GracefulShutdownTimeout: &grace})
			r := w.start(m)
			object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default",
				Name: "one"}}
			m.GetEventRecorder("shop").Eventf(object, nil, corev1.EventTypeNormal, "Stopped",
				"Stop", "")
			began := time.Now()
			err := r.end()
			require.Equal(t, want, time.Since(began))
			if want == 3*time.Second {
				require.ErrorContains(t, err,
					"within the graceful shutdown timeout of 3s: still running: the writer of "+
						"events")
			} else {
				require.NoError(t, err)
			}
			time.Sleep(time.Minute)
		})
	}
}

// Without a writer, nobody would learn what the controllers have to say.
func TestAManagerWhoseEventsNobodyCanWriteStops(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := w.manager(Options{})
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go func() { _ = m.WriteEvents(ctx) }() // a writer runs once
		synctest.Wait()
		require.ErrorContains(t, <-w.start(m).ended,
			"run the event writer: it has been started before")
		require.Equal(t, 1, strings.Count(w.log(), "event writer"),
			"it is said once, as the reason of the stop")
	})
}
