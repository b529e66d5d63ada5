package apiutil

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/fakeapi"
)

// To a controller, a kind that is not there and a server that does not answer are different things:
// it gives up on the one, and tries the other again.
func TestAServerThatIsDownIsNoMissingKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDocuments(podKind, deployKind)
		m := newMapper(d)
		d.down = errDown
		for range 3 * askAgainBurst {
			_, err := find(m, podKind, "v1")
			require.ErrorIs(t, err, errDown, "even if it was asked too often to be asked again")
			require.False(t, meta.IsNoMatchError(err))
		}
		require.Len(t, d.requests(), askAgainBurst)
		d.down = nil
		time.Sleep(time.Second)
		mustFind(t, m, "v1 pods", podKind, "v1")

		d.down = errDown
		mustFind(t, m, "v1 pods", podKind, "v1")
		_, err := find(m, deployKind, "v1")
		require.ErrorIs(t, err, errDown)
		var failed *ErrResourceDiscoveryFailed
		require.ErrorAs(t, err, &failed)
		require.Contains(t, *failed, deployKind.GroupVersion())
		d.down = nil
		mustFind(t, m, "v1 deployments", deployKind, "v1")
	})
}

func TestAllWhoShareARequestLearnThatItFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDocuments(podKind)
		d.down, d.delay = errDown, time.Second
		m := newMapper(d)
		var callers sync.WaitGroup
		for range 100 {
			callers.Go(func() {
				_, err := find(m, podKind, "v1")
				require.ErrorIs(t, err, errDown)
			})
		}
		callers.Wait()
		require.LessOrEqual(t, len(d.requests()), 2)
	})
}

// The question comes from the first read of a kind, or from a cache that starts. There is no context
// that could end it, so a program would hang there, and could not be stopped.
func TestAServerThatNeverAnswersDoesNotHoldItsCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(fakeapi.Options{})
		defer server.Close()
		server.Inject(fakeapi.Fault{Times: 1, Hang: true})
		httpClient, err := rest.HTTPClientFor(server.Config())
		require.NoError(t, err)
		m, err := NewDynamicRESTMapper(server.Config(), httpClient)
		require.NoError(t, err)
		answered := make(chan error, 1) // from the goroutine, once
		go func() {
			_, err := m.RESTMapping(podKind.GroupKind(), podKind.Version)
			answered <- err
		}()
		select {
		case err := <-answered:
			require.Error(t, err)
			require.False(t, meta.IsNoMatchError(err), "it has not said that there is no such kind")
		case <-time.After(time.Minute):
			server.Close()
			<-answered
			require.Fail(t, "the question never ends")
		}
		_, err = m.RESTMapping(podKind.GroupKind(), podKind.Version)
		require.NoError(t, err, "the next one is asked")
		require.Zero(t, httpClient.Timeout, "the client is somebody else's, who watches with it")
	})
}

func TestATroubleOfAnotherGroupIsNone(t *testing.T) {
	d := newDocuments(podKind, widgetV1)
	d.aggregated = true
	d.broken[widgetV1.GroupVersion()] = errDown
	_, err := find(newMapper(d), gvk("", "v1", "Gizmo"), "v1")
	require.True(t, meta.IsNoMatchError(err), "%v", err)
	require.NotErrorIs(t, err, errDown)
}

// The API server of one version of one group may be down, such as that of the metrics. The others
// go on.
func TestAVersionThatDoesNotAnswerDoesNotHideTheOthers(t *testing.T) {
	for _, aggregated := range []bool{false, true} {
		d := newDocuments(podKind, widgetBeta, widgetV1, gvk("shop.example", "v1beta1", "Gadget"))
		d.aggregated = aggregated
		d.broken[widgetBeta.GroupVersion()] = errDown
		m := newMapper(d)
		mustFind(t, m, "v1 widgets", widgetV1) // the preferred version is the one that is down
		d.requests()
		mustFind(t, m, "v1 widgets", widgetV1)
		require.Empty(t, d.requests(), "to ask for the other version every time would not help")
		mustFind(t, m, "v1 pods", podKind, "v1")
		d.requests()
		mustFind(t, m, "v1 widgets", widgetV1)
		require.Empty(t, d.requests(), "not even after another group was asked for")
		_, err := find(m, gadgetV1)
		require.ErrorIs(t, err, errDown, "it may be in the version that does not answer")
		_, err = find(m, widgetBeta, "v1beta1")
		require.ErrorIs(t, err, errDown)
		delete(d.broken, widgetBeta.GroupVersion())
		mustFind(t, m, "v1beta1 widgets", widgetBeta, "v1beta1")
		mustFind(t, m, "v1beta1 widgets", widgetV1)
	}
}

// That a server does not answer says nothing about what it has.
func TestWhatIsKnownOfAVersionStaysWhileItDoesNotAnswer(t *testing.T) {
	for _, aggregated := range []bool{false, true} {
		d := newDocuments(podKind, widgetV1)
		d.aggregated = aggregated
		m := newMapper(d)
		mustFind(t, m, "v1 widgets", widgetV1)
		d.broken[widgetV1.GroupVersion()] = errDown
		_, err := find(m, gadgetV1)
		require.ErrorIs(t, err, errDown)
		mustFind(t, m, "v1 widgets", widgetV1)
		mustFind(t, m, "v1 widgets", widgetV1, "v1")
	}
}

func TestAServerWithoutGroupsIsAnError(t *testing.T) {
	_, err := find(newMapper(newDocuments()), podKind, "v1")
	require.ErrorContains(t, err, "it says that it has none")
	require.False(t, meta.IsNoMatchError(err))
}

func TestFailedVersionsAreNamedInOrder(t *testing.T) {
	failed := &ErrResourceDiscoveryFailed{
		{Group: "b.example", Version: "v1"}: errDown,
		{Group: "a.example", Version: "v1"}: apierrors.NewNotFound(schema.GroupResource{}, "a"),
	}
	require.Equal(t, `the server does not say which resources it has: a.example/v1:  "a" not found, b.example/v1: connection refused`, failed.Error())
	require.ErrorIs(t, failed, errDown)
	require.False(t, meta.IsNoMatchError(failed), "whoever has sent the 404, it isn't the server's word that there is no such kind")
}
