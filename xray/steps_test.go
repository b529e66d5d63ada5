package xray

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/mini"
	"github.com/loopwright/loopwright/trace"
)

// stepped is a program in step mode: an informer of ConfigMaps, and a client. Somebody else has
// a client of his own, which no button disturbs.
type stepped struct {
	*testing.T
	steps        *Steps
	recorder     *trace.Recorder
	informer     *mini.SharedInformer
	client, user *mini.Client
}

func inSteps(t *testing.T, test func(s *stepped)) {
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(fakeapi.Options{})
		defer server.Close()
		s := &stepped{T: t, recorder: trace.New(0)}
		s.steps = NewSteps(s.recorder)
		config := server.Config()
		connect := func() *mini.Cluster {
			cluster, err := mini.NewCluster(config, scheme.Scheme)
			require.NoError(t, err)
			return cluster
		}
		s.user = &mini.Client{Cluster: connect()}
		config.Wrap(s.steps.Wrap)
		mine := connect()
		mine.Trace = s.recorder
		s.client = &mini.Client{Cluster: mine}
		source, err := mine.ListWatch(&corev1.ConfigMap{}, "")
		require.NoError(t, err)
		s.informer = mini.NewSharedInformer(source, nil)
		s.informer.Trace = s.recorder
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.informer.Run(ctx) }()
		synctest.Wait()
		test(s)
		stop()
		require.NoError(t, <-ended)
	})
}

func (s *stepped) press(do string) {
	s.Helper()
	require.NoError(s, s.steps.press(press{Do: do, Resource: "configmaps"}))
}

func (s *stepped) create(by *mini.Client, name string) error {
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	return by.Create(s.Context(), cm)
}

func (s *stepped) count(kind trace.Kind) int {
	return len(trace.Filter{Kinds: []trace.Kind{kind}}.Select(s.recorder.Events()))
}

func TestAWatchThatIsHeldMakesTheCacheStale(t *testing.T) {
	inSteps(t, func(s *stepped) {
		s.press("hold watch")
		require.NoError(s, s.create(s.user, "one"))
		time.Sleep(time.Minute)
		require.Empty(s, s.informer.List())
		state, _ := s.steps.state()
		require.Equal(s, []string{"configmaps"}, state.Held)
		s.press("release watch")
		synctest.Wait()
		require.Len(s, s.informer.List(), 1)
		require.Equal(s, 1, s.count(trace.WatchStart), "the watch went on")
	})
}

func TestAWatchThatIsCutBeginsAgainWhereItWas(t *testing.T) {
	inSteps(t, func(s *stepped) {
		s.press("hold watch")
		require.NoError(s, s.create(s.user, "one"))
		synctest.Wait()
		s.press("drop watch")
		s.press("release watch")
		time.Sleep(time.Minute)
		require.Len(s, s.informer.List(), 1)
		require.Equal(s, 2, s.count(trace.WatchStart))
		require.Equal(s, 1, s.count(trace.List))
	})
}

func TestAWatchThatIsExpiredLeadsToAList(t *testing.T) {
	inSteps(t, func(s *stepped) {
		s.press("expire watch")
		time.Sleep(time.Minute)
		require.Equal(s, 1, s.count(trace.Expired))
		require.Equal(s, 2, s.count(trace.List))
		require.NoError(s, s.create(s.user, "one"))
		synctest.Wait()
		require.Len(s, s.informer.List(), 1, "and the watch after it is a good one")
	})
}

func TestAWriteWhoseAnswerIsLostHasHappened(t *testing.T) {
	inSteps(t, func(s *stepped) {
		s.press("lose an answer")
		require.ErrorContains(s, s.create(s.client, "one"), "the answer was lost")
		synctest.Wait()
		require.Len(s, s.informer.List(), 1)
		require.NoError(s, s.create(s.client, "two"), "it was about one write")
		state, _ := s.steps.state()
		require.False(s, state.LoseNext, "the button is back")
		require.Equal(s, 2, s.count(trace.Note), "it was pressed, and it has happened")
	})
}

func TestRequestsAboutLeasesAreCutOff(t *testing.T) {
	inSteps(t, func(s *stepped) {
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "one"}}
		s.press("cut the lease")
		require.ErrorContains(s, s.client.Create(s.Context(), lease), "do not come through")
		require.NoError(s, s.create(s.client, "one"))
		state, _ := s.steps.state()
		require.True(s, state.Leases)
		s.press("restore the lease")
		require.NoError(s, s.client.Create(s.Context(), lease))
	})
}

func TestWorkersThatAreHeldGoOnOneByOne(t *testing.T) {
	inSteps(t, func(s *stepped) {
		state, before := s.steps.state()
		require.False(s, state.Workers || state.Leases, "there is no button for what is not there")
		s.steps.HasWorkers()
		state, after := s.steps.state()
		require.True(s, state.Workers)
		require.NotEqual(s, before, after, "the page is told")
		var passed atomic.Int32
		s.press("hold workers")
		ctx, stop := context.WithCancelCause(s.Context())
		ended := make(chan error, 4)
		for range 4 {
			go func() {
				err := s.steps.Wait(ctx)
				if err == nil {
					passed.Add(1)
				}
				ended <- err
			}()
		}
		for want := range int32(3) {
			synctest.Wait()
			require.Equal(s, want, passed.Load())
			if want < 2 {
				s.press("one step")
			}
		}
		stop(errors.New("stopped"))
		synctest.Wait()
		require.Len(s, ended, 4, "nobody waits for another reason to wake up")
		for range 2 {
			require.NoError(s, <-ended)
		}
		for range 2 {
			require.EqualError(s, <-ended, "stopped")
		}
		s.press("release workers")
		require.NoError(s, s.steps.Wait(s.Context()))
		require.ErrorContains(s, s.steps.press(press{Do: "one step"}), "hold the workers first")
	})
}

func TestOnlyThePageItselfPressesButtons(t *testing.T) {
	x := New(trace.New(0))
	post := func(body, origin string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, "http://localhost/steps", strings.NewReader(body))
		r.Header.Set("Origin", origin)
		w := httptest.NewRecorder()
		x.ServeHTTP(w, r)
		return w
	}
	hold := `{"do":"hold workers"}`
	require.Equal(t, http.StatusMethodNotAllowed, post(hold, "http://localhost").Code,
		"a manager has no buttons")
	x.steps = NewSteps(x.recorder)
	require.Equal(t, http.StatusForbidden, post(hold, "http://evil.example").Code)
	state, _ := x.steps.state()
	require.False(t, state.Holding)
	require.Equal(t, http.StatusNoContent, post(hold, "http://localhost").Code)
	state, _ = x.steps.state()
	require.True(t, state.Holding)
	require.Equal(t, "the workers are held", x.recorder.Events()[0].Reason)
	for body, want := range map[string]string{
		`{"do":"hold watch","resource":"pods"}`: `nothing here watches "pods"`,
		`hold`:                                  "invalid character",
	} {
		w := post(body, "http://localhost")
		require.Equal(t, http.StatusBadRequest, w.Code)
		require.Contains(t, w.Body.String(), want)
	}
	require.Len(t, x.recorder.Events(), 1, "what is refused is not recorded")
}
