package fakeapi_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/fakeapi"
)

// inBubble runs a test against a server inside a synctest bubble: if the
// server or a connection left a goroutine behind, the bubble would not end.
func inBubble(t *testing.T, options fakeapi.Options, test func(t *testing.T, s *fakeapi.Server, c *kubernetes.Clientset)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := fakeapi.New(options)
		defer s.Close()
		c, err := kubernetes.NewForConfig(s.Config())
		require.NoError(t, err)
		test(t, s, c)
	})
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", Labels: map[string]string{"t": "x"}}}
}

func create(t *testing.T, c kubernetes.Interface, name string) *corev1.ConfigMap {
	t.Helper()
	made, err := c.CoreV1().ConfigMaps("default").Create(t.Context(), configMap(name), metav1.CreateOptions{})
	require.NoError(t, err)
	return made
}

func TestAServerNobodyConnectedToHoldsNoGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fakeapi.New(fakeapi.Options{}) // not even closed
	})
}

func TestTheServerIsAnOrdinaryHTTPHandler(t *testing.T) {
	s := fakeapi.New(fakeapi.Options{})
	defer s.Close()
	over := httptest.NewServer(s)
	defer over.Close()
	c, err := kubernetes.NewForConfig(&rest.Config{Host: over.URL})
	require.NoError(t, err)
	create(t, c, "a")
	version, err := c.Discovery().ServerVersion()
	require.NoError(t, err)
	require.Equal(t, "36", version.Minor)
}

func TestTwoServersWithOneSeedGiveTheSameAnswers(t *testing.T) {
	answers := func() (out []string) {
		inBubble(t, fakeapi.Options{Seed: 7}, func(t *testing.T, _ *fakeapi.Server, c *kubernetes.Clientset) {
			for range 5 {
				made, err := c.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "g-"}}, metav1.CreateOptions{})
				require.NoError(t, err)
				out = append(out, made.String())
			}
		})
		return out
	}
	require.Equal(t, answers(), answers())
}

func TestCloseEndsWatchesAndRefusesWhatComesLater(t *testing.T) {
	inBubble(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, c *kubernetes.Clientset) {
		w, err := c.CoreV1().Pods("").Watch(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		s.Close()
		s.Close()
		_, open := <-w.ResultChan()
		require.False(t, open)
		_, err = c.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
		require.Error(t, err)
	})
}

func TestAWatcherThatDoesNotReadDelaysNobody(t *testing.T) {
	inBubble(t, fakeapi.Options{History: 50}, func(t *testing.T, s *fakeapi.Server, c *kubernetes.Clientset) {
		slow, err := c.CoreV1().RESTClient().Get().Resource("configmaps").VersionedParams(&metav1.ListOptions{Watch: true, ResourceVersion: "1"}, metav1.ParameterCodec).Stream(t.Context())
		require.NoError(t, err)
		defer slow.Close() // it was never read
		fast, err := c.CoreV1().ConfigMaps("").Watch(t.Context(), metav1.ListOptions{ResourceVersion: fmt.Sprint(s.ResourceVersion())})
		require.NoError(t, err)
		defer fast.Stop()
		for i := range 200 {
			create(t, c, fmt.Sprintf("a-%d", i))
			e := <-fast.ResultChan()
			require.Equal(t, watch.Added, e.Type)
		}
	})
}

func TestBookmarksComeOnceAMinuteAndCarryTheNewestVersion(t *testing.T) {
	inBubble(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, c *kubernetes.Clientset) {
		w, err := c.CoreV1().Pods("").Watch(t.Context(), metav1.ListOptions{ResourceVersion: "1", AllowWatchBookmarks: true})
		require.NoError(t, err)
		defer w.Stop()
		begin := time.Now()
		create(t, c, "of-another-kind")
		for i := 1; i <= 3; i++ {
			e := <-w.ResultChan()
			require.Equal(t, watch.Bookmark, e.Type)
			require.Equal(t, time.Duration(i)*time.Minute, time.Since(begin))
			require.Equal(t, fmt.Sprint(s.ResourceVersion()), e.Object.(*corev1.Pod).ResourceVersion)
		}
	})
}

func TestAWatchWithoutATimeoutEndsBetweenHalfAnHourAndAnHour(t *testing.T) {
	inBubble(t, fakeapi.Options{}, func(t *testing.T, _ *fakeapi.Server, c *kubernetes.Clientset) {
		begin := time.Now()
		w, err := c.CoreV1().Pods("").Watch(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		_, open := <-w.ResultChan()
		require.False(t, open)
		require.GreaterOrEqual(t, time.Since(begin), 30*time.Minute)
		require.Less(t, time.Since(begin), time.Hour)
	})
}

func TestAWatchFromAForgottenVersionIsToldSoInItsFirstEvent(t *testing.T) {
	inBubble(t, fakeapi.Options{History: 3}, func(t *testing.T, s *fakeapi.Server, c *kubernetes.Clientset) {
		first := create(t, c, "a")
		for i := range 5 {
			create(t, c, fmt.Sprint("b-", i))
		}
		w, err := c.CoreV1().ConfigMaps("").Watch(t.Context(), metav1.ListOptions{ResourceVersion: first.ResourceVersion})
		require.NoError(t, err, "the refusal is an event, not an HTTP error")
		e := <-w.ResultChan()
		require.Equal(t, watch.Error, e.Type)
		require.True(t, apierrors.IsResourceExpired(apierrors.FromObject(e.Object)))
		_, open := <-w.ResultChan()
		require.False(t, open)
	})
}

func TestARegisteredKindIsServedAndAnUnregisteredOneIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fakeapi.New(fakeapi.Options{})
		defer s.Close()
		c, err := dynamic.NewForConfig(s.Config())
		require.NoError(t, err)
		gvr := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}
		discovered := func() bool {
			_, err := discovery.NewDiscoveryClientForConfigOrDie(s.Config()).ServerResourcesForGroupVersion("example.com/v1")
			require.True(t, err == nil || apierrors.IsNotFound(err), err)
			return err == nil
		}
		require.False(t, discovered())
		widgets := c.Resource(gvr).Namespace("default")
		_, err = widgets.List(t.Context(), metav1.ListOptions{})
		require.True(t, apierrors.IsNotFound(err))
		s.Register(fakeapi.Kind{Group: "example.com", Version: "v1", Kind: "Widget"})
		require.True(t, discovered())
		w, err := widgets.Watch(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		_, err = widgets.Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": "w"}}}, metav1.CreateOptions{})
		require.NoError(t, err)
		require.Equal(t, watch.Added, (<-w.ResultChan()).Type)
		s.Unregister(gvr)
		require.False(t, discovered())
		require.Equal(t, watch.Deleted, (<-w.ResultChan()).Type)
		_, open := <-w.ResultChan()
		require.False(t, open)
		_, err = widgets.List(t.Context(), metav1.ListOptions{})
		require.True(t, apierrors.IsNotFound(err))
	})
}

func TestWritersWhoRaceLoseToEachOtherButNoWriteIsLost(t *testing.T) {
	inBubble(t, fakeapi.Options{}, func(t *testing.T, _ *fakeapi.Server, c *kubernetes.Clientset) {
		create(t, c, "a")
		var group sync.WaitGroup
		for i := range 8 {
			group.Go(func() {
				for range 10 {
					patch := fmt.Sprintf(`[{"op":"add","path":"/metadata/labels/w%d","value":"x"}]`, i)
					_, err := c.CoreV1().ConfigMaps("default").Patch(context.Background(), "a", "application/json-patch+json", []byte(patch), metav1.PatchOptions{})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		group.Wait()
		got, err := c.CoreV1().ConfigMaps("default").Get(t.Context(), "a", metav1.GetOptions{})
		require.NoError(t, err)
		require.Len(t, got.Labels, 9)
	})
}

func TestANamespaceIsEmptiedAndGoesIfTheServerPlaysItsController(t *testing.T) {
	inBubble(t, fakeapi.Options{FinalizeNamespaces: true}, func(t *testing.T, _ *fakeapi.Server, c *kubernetes.Clientset) {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
		_, err := c.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{})
		require.NoError(t, err)
		for _, name := range []string{"a", "b"} {
			cm := configMap(name)
			cm.Namespace = "n"
			if name == "b" {
				cm.Finalizers = []string{"example.com/f"}
			}
			_, err := c.CoreV1().ConfigMaps("n").Create(t.Context(), cm, metav1.CreateOptions{})
			require.NoError(t, err)
		}
		require.NoError(t, c.CoreV1().Namespaces().Delete(t.Context(), "n", metav1.DeleteOptions{}))
		_, err = c.CoreV1().ConfigMaps("n").Get(t.Context(), "a", metav1.GetOptions{})
		require.True(t, apierrors.IsNotFound(err))
		got, err := c.CoreV1().Namespaces().Get(t.Context(), "n", metav1.GetOptions{})
		require.NoError(t, err, "the finalizer keeps it")
		require.Equal(t, corev1.NamespaceTerminating, got.Status.Phase)
		_, err = c.CoreV1().ConfigMaps("n").Patch(t.Context(), "b", "application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		require.NoError(t, err)
		_, err = c.CoreV1().Namespaces().Get(t.Context(), "n", metav1.GetOptions{})
		require.True(t, apierrors.IsNotFound(err))
	})
}

func TestTheLogTellsWhatWasAsked(t *testing.T) {
	inBubble(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, c *kubernetes.Clientset) {
		create(t, c, "a")
		_, err := c.CoreV1().ConfigMaps("").List(t.Context(), metav1.ListOptions{Limit: 5})
		require.NoError(t, err)
		var lines []string
		for _, r := range s.Requests(fakeapi.Match{Resource: "configmaps"}) {
			lines = append(lines, r.String())
		}
		require.Equal(t, []string{"create configmaps in default", "list configmaps"}, lines)
		require.Equal(t, "5", s.Requests(fakeapi.Match{Verb: "list"})[0].Query.Get("limit"))
		s.ForgetRequests()
		require.Empty(t, s.Requests(fakeapi.Match{}))
	})
}

func TestABodyThatIsTooLargeIsRefused(t *testing.T) {
	inBubble(t, fakeapi.Options{}, func(t *testing.T, _ *fakeapi.Server, c *kubernetes.Clientset) {
		cm := configMap("a")
		cm.Data = map[string]string{"k": string(make([]byte, 4<<20))}
		_, err := c.CoreV1().ConfigMaps("default").Create(t.Context(), cm, metav1.CreateOptions{})
		require.Equal(t, int32(http.StatusRequestEntityTooLarge), statusCode(err))
	})
}

func statusCode(err error) int32 {
	if status, ok := err.(apierrors.APIStatus); ok {
		return status.Status().Code
	}
	return 0
}
