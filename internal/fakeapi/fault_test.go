package fakeapi_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/fakeapi"
)

var onConfigMaps = fakeapi.Match{Resource: "configmaps"}

func TestAStatusFaultHitsAsOftenAsItSays(t *testing.T) {
	inBubble(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, c *kubernetes.Clientset) {
		maps := c.CoreV1().ConfigMaps("default")
		a := create(t, c, "a")
		s.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "update", Resource: "configmaps", Name: "a"}, Skip: 1, Times: 2, Status: fakeapi.Conflict()})
		var got []bool
		for i := range 4 {
			a.Data = map[string]string{"n": fmt.Sprint(i)}
			a.ResourceVersion = ""
			_, err := maps.Update(t.Context(), a, metav1.UpdateOptions{})
			got = append(got, apierrors.IsConflict(err))
		}
		require.Equal(t, []bool{false, true, true, false}, got)
	})
}

// A test that injects faults at random must be able to say how many of them hit.
func TestAFaultReportsEachRequestThatItHits(t *testing.T) {
	inBubble(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, c *kubernetes.Clientset) {
		var hit []string
		s.Inject(fakeapi.Fault{Match: onConfigMaps, Skip: 1, Times: 2, OnHit: func(r fakeapi.Request) { hit = append(hit, r.String()) }})
		for _, name := range []string{"a", "b", "c", "d"} {
			create(t, c, name)
		}
		require.Equal(t, []string{"create configmaps in default", "create configmaps in default"}, hit)
	})
}

func TestEveryKindOfFailureIsWhatClientsCallIt(t *testing.T) {
	inBubble(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, c *kubernetes.Clientset) {
		for _, f := range []struct {
			status *metav1.Status
			is     func(error) bool
		}{
			{fakeapi.Conflict(), apierrors.IsConflict}, {fakeapi.Expired(), apierrors.IsResourceExpired}, {fakeapi.InternalError(), apierrors.IsInternalError},
			{fakeapi.Unavailable(), apierrors.IsServiceUnavailable}, {fakeapi.Timeout(), apierrors.IsTimeout}, {fakeapi.Forbidden(), apierrors.IsForbidden},
		} {
			remove := s.Inject(fakeapi.Fault{Match: onConfigMaps, Status: f.status})
			_, err := c.CoreV1().ConfigMaps("").List(t.Context(), metav1.ListOptions{})
			require.True(t, f.is(err), "%v", err)
			remove()
			_, err = c.CoreV1().ConfigMaps("").List(t.Context(), metav1.ListOptions{})
			require.NoError(t, err, "the fault was lifted")
		}
	})
}

func TestAClientObeysRetryAfter(t *testing.T) {
	inBubble(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, c *kubernetes.Clientset) {
		s.Inject(fakeapi.Fault{Match: onConfigMaps, Times: 2, Status: fakeapi.TooManyRequests(5)})
		begin := time.Now()
		_, err := c.CoreV1().ConfigMaps("").List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		require.Equal(t, 10*time.Second, time.Since(begin))
	})
}

func TestAHangingServerIsLeftByTheClientsOwnTimeout(t *testing.T) {
	inBubble(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, c *kubernetes.Clientset) {
		s.Inject(fakeapi.Fault{Match: onConfigMaps, Times: 1, Hang: true})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begin := time.Now()
		_, err := c.CoreV1().ConfigMaps("").List(ctx, metav1.ListOptions{})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, time.Minute, time.Since(begin))
		s.Inject(fakeapi.Fault{Match: onConfigMaps, Times: 1, Delay: 7 * time.Second})
		_, err = c.CoreV1().ConfigMaps("").List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		require.Equal(t, time.Minute+7*time.Second, time.Since(begin))
	})
}

func TestALostResponseIsAWriteThatHappenedAllTheSame(t *testing.T) {
	inBubble(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, c *kubernetes.Clientset) {
		s.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "create"}, Times: 1, LoseResponse: true})
		_, err := c.CoreV1().ConfigMaps("default").Create(t.Context(), configMap("a"), metav1.CreateOptions{})
		require.Error(t, err)
		_, err = c.CoreV1().ConfigMaps("default").Create(t.Context(), configMap("a"), metav1.CreateOptions{})
		require.True(t, apierrors.IsAlreadyExists(err))
	})
}

func TestAStaleReadShowsThePast(t *testing.T) {
	inBubble(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, c *kubernetes.Clientset) {
		maps := c.CoreV1().ConfigMaps("default")
		create(t, c, "a")
		b := create(t, c, "b")
		require.NoError(t, maps.Delete(t.Context(), "a", metav1.DeleteOptions{}))
		remove := s.Inject(fakeapi.Fault{Match: onConfigMaps, Stale: 2})
		list, err := maps.List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		require.Len(t, list.Items, 1)
		require.Equal(t, "a", list.Items[0].Name)
		require.NotEqual(t, b.ResourceVersion, list.ResourceVersion)
		_, err = maps.Get(t.Context(), "b", metav1.GetOptions{})
		require.True(t, apierrors.IsNotFound(err), "b is not there yet")
		remove()
		_, err = maps.Get(t.Context(), "b", metav1.GetOptions{})
		require.NoError(t, err)
	})
}

func TestAWatchIsCutAfterEventsOrAfterATime(t *testing.T) {
	inBubble(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, c *kubernetes.Clientset) {
		for i := range 5 {
			create(t, c, fmt.Sprint("a-", i))
		}
		s.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "watch"}, Times: 1, CutAfterEvents: 3})
		require.Len(t, drain(watchAll(t, c, metav1.ListOptions{})), 3)
		s.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "watch"}, Times: 1, CutAfter: time.Minute})
		begin := time.Now()
		require.Len(t, drain(watchAll(t, c, metav1.ListOptions{})), 5)
		require.Equal(t, time.Minute, time.Since(begin))
	})
}

func TestAWatchThatIsCutAbruptlyIsABrokenStream(t *testing.T) {
	inBubble(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, c *kubernetes.Clientset) {
		create(t, c, "a")
		read := func() error {
			stream, err := c.CoreV1().RESTClient().Get().Resource("configmaps").Param("watch", "1").Stream(t.Context())
			require.NoError(t, err)
			defer stream.Close()
			_, err = io.ReadAll(stream)
			return err
		}
		for _, f := range []fakeapi.Fault{{CutAfterEvents: 1}, {CutAfter: time.Second}} {
			f.Match, f.Times = onConfigMaps, 2
			s.Inject(f)
			require.NoError(t, read(), "an orderly end")
			f.CutAbruptly, f.Times = true, 1
			s.Inject(f)
			require.ErrorIs(t, read(), io.ErrUnexpectedEOF)
		}
	})
}

func TestAServerWithoutVersionsListsAndRefusesToWatch(t *testing.T) {
	inBubble(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, c *kubernetes.Clientset) {
		create(t, c, "a")
		configMaps := c.CoreV1().ConfigMaps("default")
		remove := s.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "configmaps"}, NoVersions: true})
		list, err := configMaps.List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		require.Empty(t, list.ResourceVersion)
		require.Len(t, list.Items, 1)
		require.Empty(t, list.Items[0].ResourceVersion)
		_, err = configMaps.Watch(t.Context(), metav1.ListOptions{})
		require.True(t, apierrors.IsMethodNotSupported(err), "%v", err)
		remove()
		list, err = configMaps.List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		require.NotEmpty(t, list.Items[0].ResourceVersion, "the fault must not change what is stored")
	})
}

func TestARefusedRequestIsNotCarriedOut(t *testing.T) {
	inBubble(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, c *kubernetes.Clientset) {
		s.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "create"}, Times: 1, Refuse: true})
		_, err := c.CoreV1().ConfigMaps("default").Create(t.Context(), configMap("a"), metav1.CreateOptions{})
		require.Error(t, err)
		create(t, c, "a")
	})
}

// This one needs a real connection, whose end a server must notice by itself.
func TestAHungWriteEndsWithItsClient(t *testing.T) {
	s := fakeapi.New(fakeapi.Options{})
	defer s.Close()
	s.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "create"}, Hang: true})
	arrived, ended := make(chan struct{}), make(chan struct{})
	over := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(arrived)
		defer close(ended)
		s.ServeHTTP(w, r)
	}))
	defer over.Close()
	c, err := kubernetes.NewForConfig(&rest.Config{Host: over.URL})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	_, err = c.CoreV1().ConfigMaps("default").Create(ctx, configMap("a"), metav1.CreateOptions{})
	require.ErrorIs(t, err, context.Canceled)
	<-ended
}

func TestEventsAreDelayedInOrder(t *testing.T) {
	inBubble(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, c *kubernetes.Clientset) {
		s.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "watch"}, DelayEvents: time.Second})
		w := watchAll(t, c, metav1.ListOptions{ResourceVersion: "1"})
		defer w.Stop()
		begin := time.Now()
		for i := range 3 {
			create(t, c, fmt.Sprint("a-", i))
		}
		for i := range 3 {
			e := <-w.ResultChan()
			require.Equal(t, fmt.Sprint("a-", i), e.Object.(*corev1.ConfigMap).Name)
			require.Equal(t, time.Duration(i+1)*time.Second, time.Since(begin))
		}
	})
}

func TestDroppedEventsAreTheSameOnesForTheSameSeed(t *testing.T) {
	dropped := func(seed uint64) (got int) {
		inBubble(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, c *kubernetes.Clientset) {
			for i := range 50 {
				create(t, c, fmt.Sprint("a-", i))
			}
			s.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "watch"}, DropEvents: 0.5, Seed: seed, CutAfter: time.Second})
			got = len(drain(watchAll(t, c, metav1.ListOptions{})))
		})
		return got
	}
	require.Equal(t, dropped(1), dropped(1))
	require.Greater(t, dropped(1), 5)
	require.Less(t, dropped(1), 45)
}

func TestServersThatDoNotSpeakWatchList(t *testing.T) {
	yes := true
	streaming := metav1.ListOptions{SendInitialEvents: &yes, AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan}
	inBubble(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, c *kubernetes.Clientset) {
		create(t, c, "a")
		remove := s.Inject(fakeapi.Fault{Match: onConfigMaps, NoWatchList: true})
		_, err := c.CoreV1().ConfigMaps("").Watch(t.Context(), streaming)
		require.True(t, apierrors.IsInvalid(err), "%v", err)
		remove()
		for _, f := range []fakeapi.Fault{{NoInitialEventsEnd: true}, {IgnoreWatchList: true}} {
			f.Match, f.CutAfter = onConfigMaps, 30*time.Second
			remove := s.Inject(f)
			events := drain(watchAll(t, c, streaming))
			remove()
			require.Len(t, events, 1, "there is no end bookmark")
			require.Equal(t, watch.Added, events[0].Type)
		}
		events := drain(watchAll(t, c, metav1.ListOptions{SendInitialEvents: &yes, AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, TimeoutSeconds: new(int64(1))}))
		require.Equal(t, watch.Bookmark, events[1].Type, "without the fault there is one")
	})
}

func TestAFaultOfOneClientDoesNotTouchAnother(t *testing.T) {
	inBubble(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, c *kubernetes.Clientset) {
		cfg := s.Config()
		cfg.UserAgent = "unlucky/1"
		unlucky, err := kubernetes.NewForConfig(cfg)
		require.NoError(t, err)
		s.Inject(fakeapi.Fault{Match: fakeapi.Match{UserAgent: "unlucky"}, Status: fakeapi.Forbidden()})
		_, err = unlucky.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
		require.True(t, apierrors.IsForbidden(err))
		_, err = c.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
	})
}

func TestAFaultOfSeveralVerbsHitsEachOfThemAndNoOther(t *testing.T) {
	inBubble(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, c *kubernetes.Clientset) {
		s.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "create|list"}, Status: fakeapi.Forbidden()})
		maps := c.CoreV1().ConfigMaps("default")
		_, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "it"}}, metav1.CreateOptions{})
		require.True(t, apierrors.IsForbidden(err))
		_, err = maps.List(t.Context(), metav1.ListOptions{})
		require.True(t, apierrors.IsForbidden(err))
		_, err = maps.Get(t.Context(), "it", metav1.GetOptions{})
		require.True(t, apierrors.IsNotFound(err))
	})
}

func watchAll(t *testing.T, c kubernetes.Interface, options metav1.ListOptions) watch.Interface {
	t.Helper()
	w, err := c.CoreV1().ConfigMaps("").Watch(t.Context(), options)
	require.NoError(t, err)
	return w
}

func drain(w watch.Interface) (events []watch.Event) {
	for e := range w.ResultChan() {
		events = append(events, e)
	}
	return events
}
