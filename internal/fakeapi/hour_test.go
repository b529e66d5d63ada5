package fakeapi_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/loopwright/loopwright/internal/fakeapi"
)

// A follower keeps a copy of all ConfigMaps by listing and watching, and
// starts over whenever something goes wrong: the simplest honest client.
type follower struct {
	client kubernetes.Interface

	mu    sync.Mutex // guards all below
	known map[string]string
	lists int
	bad   []string
}

func (f *follower) run(ctx context.Context) {
	rv := ""
	for ctx.Err() == nil {
		if rv == "" {
			rv = f.list(ctx)
		}
		if rv != "" {
			rv = f.follow(ctx, rv)
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
}

func (f *follower) list(ctx context.Context) string {
	list, err := f.client.CoreV1().ConfigMaps("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return ""
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lists++
	f.known = map[string]string{}
	for i := range list.Items {
		f.known[list.Items[i].Name] = list.Items[i].ResourceVersion
	}
	return list.ResourceVersion
}

// follow applies events until the watch ends and returns the version to go on
// from, or "" if only a list can help.
func (f *follower) follow(ctx context.Context, rv string) string {
	w, err := f.client.CoreV1().ConfigMaps("").Watch(ctx, metav1.ListOptions{ResourceVersion: rv, AllowWatchBookmarks: true, TimeoutSeconds: new(int64(300))})
	if err != nil {
		return rv
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		if e.Type == watch.Error {
			return ""
		}
		cm := e.Object.(*corev1.ConfigMap)
		rv = cm.ResourceVersion
		f.apply(e.Type, cm)
	}
	return rv
}

func (f *follower) apply(kind watch.EventType, cm *corev1.ConfigMap) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, had := f.known[cm.Name]
	switch {
	case kind == watch.Added && had, kind == watch.Modified && !had, kind == watch.Deleted && !had:
		f.bad = append(f.bad, fmt.Sprintf("%s %s, known: %v", kind, cm.Name, had))
	}
	switch kind {
	case watch.Added, watch.Modified:
		f.known[cm.Name] = cm.ResourceVersion
	case watch.Deleted:
		delete(f.known, cm.Name)
	}
}

// One virtual hour: a writer that never rests, followers over JSON and
// protobuf, and a server that cuts, delays, refuses and forgets. In the end
// every follower must know what is there, and none may have seen an event that
// does not follow from what it knew.
func TestAnHourOfWatchingUnderFaultsEndsWithTheTruth(t *testing.T) {
	realTime := stopwatch()
	inBubble(t, fakeapi.Options{NoManagedFields: true, History: 200}, func(t *testing.T, s *fakeapi.Server, c *kubernetes.Clientset) {
		s.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "watch"}, Probability: 0.3, Seed: 1, CutAfterEvents: 20})
		s.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "watch"}, Probability: 0.3, Seed: 2, CutAfter: 40 * time.Second})
		s.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "watch"}, Probability: 0.2, Seed: 3, DelayEvents: 3 * time.Second})
		s.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "watch"}, Probability: 0.1, Seed: 4, Status: fakeapi.TooManyRequests(2)})
		s.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "list"}, Probability: 0.2, Seed: 5, Status: fakeapi.InternalError()})
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		var followers []*follower
		for i := range 10 {
			cfg := s.Config()
			if i%2 == 1 {
				cfg.ContentType = "application/vnd.kubernetes.protobuf"
			}
			client, err := kubernetes.NewForConfig(cfg)
			require.NoError(t, err)
			f := &follower{client: client}
			followers = append(followers, f)
			group.Go(func() { f.run(ctx) })
		}
		writes := writeForAnHour(t, s, c)
		time.Sleep(10 * time.Minute) // time for the last events, delayed or not
		want, err := c.CoreV1().ConfigMaps("").List(t.Context(), metav1.ListOptions{})
		for err != nil {
			want, err = c.CoreV1().ConfigMaps("").List(t.Context(), metav1.ListOptions{})
		}
		cancel()
		group.Wait()
		lists := 0
		for _, f := range followers {
			require.Empty(t, f.bad)
			require.Len(t, f.known, len(want.Items))
			for i := range want.Items {
				require.Equal(t, want.Items[i].ResourceVersion, f.known[want.Items[i].Name])
			}
			lists += f.lists
		}
		watches := len(s.Requests(fakeapi.Match{Verb: "watch"}))
		require.Greater(t, watches, 150, "the faults must have had an effect")
		require.Greater(t, lists, len(followers), "and so must forgetting")
		t.Logf("%d writes, %d watches, %d lists that were answered", writes, watches, lists)
	})
	took := realTime()
	t.Logf("70 virtual minutes took %v", took)
	// About a second, or ten with the race detector. How fast a machine is is none
	// of a test's business; that no real time is waited for is.
	require.Less(t, took, 10*time.Minute)
}

// writeForAnHour writes every other second, and compacts now and then.
func writeForAnHour(t *testing.T, s *fakeapi.Server, c kubernetes.Interface) (writes int) {
	random := rand.New(rand.NewPCG(9, 9))
	maps := c.CoreV1().ConfigMaps("default")
	for begin := time.Now(); time.Since(begin) < time.Hour; writes++ {
		name := fmt.Sprintf("cm-%d", random.IntN(30))
		var err error
		switch random.IntN(4) {
		case 0:
			err = maps.Delete(t.Context(), name, metav1.DeleteOptions{})
		case 1:
			_, err = maps.Create(t.Context(), configMap(name), metav1.CreateOptions{})
		default:
			patch := fmt.Sprintf(`{"data":{"k":"%d"}}`, writes)
			_, err = maps.Patch(t.Context(), name, "application/merge-patch+json", []byte(patch), metav1.PatchOptions{})
		}
		if err != nil && !strings.Contains(err.Error(), "not found") && !strings.Contains(err.Error(), "already exists") {
			t.Fatal(err)
		}
		if random.IntN(200) == 0 {
			s.CompactAll()
		}
		time.Sleep(2 * time.Second)
	}
	return writes
}
