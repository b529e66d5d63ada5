// This test passes, but go.mod lacks an indirect requirement of
// client-go/tools/cache (github.com/pmezard/go-difflib), without which the
// package's tests would not build. Once it is there, this file belongs one
// directory up.

package fakeapi_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"

	"github.com/loopwright/loopwright/internal/fakeapi"
)

// client-go's own informer is the most demanding client there is: it streams
// its first list, resumes from bookmarks, falls back and backs off.
func TestClientGosInformerFollowsThroughCutsForgettingAndOldServers(t *testing.T) {
	for name, faults := range map[string][]fakeapi.Fault{
		"no fault":           nil,
		"watches are cut":    {{Match: fakeapi.Match{Verb: "watch"}, CutAfter: 10 * time.Second}},
		"no WatchList":       {{NoWatchList: true}},
		"a busy server":      {{Times: 3, Status: fakeapi.TooManyRequests(1)}},
		"a server that errs": {{Probability: 0.5, Seed: 3, Status: fakeapi.InternalError()}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, c *kubernetes.Clientset) {
				create(t, c, "before")
				cfg := s.Config()
				cfg.UserAgent = "informer"
				mine, err := kubernetes.NewForConfig(cfg)
				require.NoError(t, err)
				for _, f := range faults {
					f.Match.UserAgent = "informer"
					s.Inject(f)
				}
				stop := make(chan struct{})
				factory := informers.NewSharedInformerFactory(mine, 0)
				lister := factory.Core().V1().ConfigMaps().Lister().ConfigMaps("default")
				factory.Start(stop)
				defer factory.Shutdown()
				defer close(stop)
				factory.WaitForCacheSync(stop)
				_, err = lister.Get("before")
				require.NoError(t, err)
				for _, name := range []string{"a", "b", "c"} {
					create(t, c, name)
					time.Sleep(25 * time.Second)
				}
				require.NoError(t, c.CoreV1().ConfigMaps("default").Delete(t.Context(), "before", metav1.DeleteOptions{}))
				s.CompactAll()
				time.Sleep(5 * time.Minute)
				synctest.Wait()
				_, err = lister.Get("before")
				require.Error(t, err)
				for _, name := range []string{"a", "b", "c"} {
					_, err = lister.Get(name)
					require.NoError(t, err, name)
				}
			})
		})
	}
}
