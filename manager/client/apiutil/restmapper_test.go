package apiutil

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/fakeapi"
)

func TestAnOlderServerIsAskedForAGroupWhenItIsNeeded(t *testing.T) {
	d := newDocuments(podKind, deployKind, widgetV1)
	m := newMapper(d)
	require.Empty(t, d.requests(), "a mapper that nobody asks asks nobody")
	mustFind(t, m, "v1 deployments", deployKind, "v1")
	require.Equal(t, []string{"groups", "apps/v1"}, d.requests())
	mustFind(t, m, "v1 deployments", deployKind, "v1")
	namespaced, err := IsGVKNamespaced(gvk("apps", "v1", "DeploymentList"), m)
	require.NoError(t, err)
	require.True(t, namespaced, "a list is where its items are")
	require.Empty(t, d.requests(), "what is known is not asked for again")
	mustFind(t, m, "v1 pods", podKind, "v1")
	require.Equal(t, []string{"v1"}, d.requests())
}

func TestAMissingKindIsAskedForOnceACall(t *testing.T) {
	d := newDocuments(podKind, widgetV1, widgetBeta)
	m := newMapper(d)
	_, err := find(m, unknownKind, "v1")
	require.True(t, meta.IsNoMatchError(err))
	require.Equal(t, []string{"groups", "nobody.example/v1"}, d.requests())
	_, err = find(m, unknownKind, "v1")
	require.True(t, meta.IsNoMatchError(err))
	require.Equal(t, []string{"nobody.example/v1"}, d.requests())
	mustFind(t, m, "v1beta1 widgets", widgetBeta, "v1beta1")
	d.requests()
	mustFind(t, m, "v1beta1 widgets", widgetBeta, "v1beta1")
	require.Empty(t, d.requests(), "the other version was not asked for, and need not be")
}

func TestAServerWithAggregatedDiscoveryIsAskedOnce(t *testing.T) {
	d := newDocuments(podKind, deployKind, widgetV1)
	d.aggregated = true
	m := newMapper(d)
	mustFind(t, m, "v1 deployments", deployKind, "v1")
	mustFind(t, m, "v1 pods", podKind)
	mustFind(t, m, "v1 widgets", widgetV1, "v1")
	require.Equal(t, []string{"groups"}, d.requests())
}

// This is what every operator's main function lives on: its own kinds are installed while it runs.
func TestAKindThatIsInstalledLaterIsFound(t *testing.T) {
	for _, aggregated := range []bool{false, true} {
		t.Run(fmt.Sprint("aggregated ", aggregated), func(t *testing.T) {
			d := newDocuments(podKind)
			d.aggregated = aggregated
			m := newMapper(d)
			_, err := find(m, widgetV1, "v1")
			require.True(t, meta.IsNoMatchError(err), "%v", err)
			d.install(widgetV1)
			mustFind(t, m, "v1 widgets", widgetV1, "v1")
			_, err = find(m, gadgetV1, "v1")
			require.True(t, meta.IsNoMatchError(err), "%v", err)
			d.install(gadgetV1)
			mustFind(t, m, "v1 gadgets", gadgetV1, "v1")
			_, err = find(m, widgetBeta, "v1beta1")
			require.True(t, meta.IsNoMatchError(err), "%v", err)
			d.install(widgetBeta)
			mustFind(t, m, "v1beta1 widgets", widgetBeta, "v1beta1")
			mustFind(t, m, "v1 widgets", widgetBeta)

			d.install(gvk("new.example", "v2", "Thing"))
			mustFind(t, m, "v2 things", gvk("new.example", "v2", "Thing"))
		})
	}
}

func TestAGroupThatIsGoneIsNotFoundAgain(t *testing.T) {
	for _, aggregated := range []bool{false, true} {
		d := newDocuments(podKind, widgetV1, widgetBeta)
		d.aggregated = aggregated
		m := newMapper(d)
		mustFind(t, m, "v1 widgets", widgetV1)
		d.remove(widgetV1.GroupVersion())
		_, err := find(m, gadgetV1, "v1") // the mapper asks for this version, and learns that it is gone
		require.True(t, meta.IsNoMatchError(err), "%v", err)
		if !aggregated {
			mustFind(t, m, "v1beta1 widgets", widgetV1)
		}
		_, err = find(m, gvk("shop.example", "", "Gizmo"))
		require.True(t, meta.IsNoMatchError(err), "%v", err)
		mustFind(t, m, "v1beta1 widgets", widgetV1)
	}
}

// The version that happens to be known must not win over the server's favourite.
func TestWithoutAVersionTheServersPreferredOneIsFound(t *testing.T) {
	d := newDocuments(podKind, widgetV1, widgetBeta, gvk("shop.example", "v1beta1", "Gadget"))
	m := newMapper(d)
	mustFind(t, m, "v1beta1 widgets", widgetBeta, "v1beta1")
	mustFind(t, m, "v1 widgets", widgetBeta)
	mustFind(t, m, "v1beta1 gadgets", gadgetV1)
	all, err := m.RESTMappings(widgetV1.GroupKind())
	require.NoError(t, err)
	require.Len(t, all, 2)
	d.requests()
	mustFind(t, m, "v1 widgets", widgetV1)
	require.Empty(t, d.requests())
}

func TestAllQuestionsOfAMapperAreAnswered(t *testing.T) {
	pods := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	for _, resource := range []schema.GroupVersionResource{pods, {Version: "v1", Resource: "pod"}, {Resource: "pods"}} {
		kind, err := newMapper(newDocuments(podKind)).KindFor(resource)
		require.NoError(t, err)
		require.Equal(t, podKind, kind)
		kinds, err := newMapper(newDocuments(podKind)).KindsFor(resource)
		require.NoError(t, err)
		require.Equal(t, []schema.GroupVersionKind{podKind}, kinds)
		full, err := newMapper(newDocuments(podKind)).ResourceFor(resource)
		require.NoError(t, err)
		require.Equal(t, pods, full)
		fulls, err := newMapper(newDocuments(podKind)).ResourcesFor(resource)
		require.NoError(t, err)
		require.Equal(t, []schema.GroupVersionResource{pods}, fulls)
	}
	m := newMapper(newDocuments(podKind, gvk("", "v1", "Node")))
	mapping, err := m.RESTMapping(gvk("", "v1", "Node").GroupKind(), "v1")
	require.NoError(t, err)
	require.Equal(t, meta.RESTScopeRoot, mapping.Scope)
	singular, err := m.ResourceSingularizer("pods")
	require.NoError(t, err)
	require.Equal(t, "pod", singular)
}

// A resource without a group may be in several. Which one is found must not change from run to run.
func TestTheServersOrderDecidesBetweenGroups(t *testing.T) {
	for range 20 {
		d := newDocuments(gvk("", "v1", "Pod"), gvk("first.example", "v1", "Thing"), gvk("again.example", "v1", "Thing"), gvk("zoo.example", "v1", "Thing"))
		d.aggregated = true
		kind, err := newMapper(d).KindFor(schema.GroupVersionResource{Resource: "things"})
		require.NoError(t, err)
		require.Equal(t, "first.example", kind.Group)
	}
}

// A list of groups is not read again for each kind that comes later.
func TestAGroupThatIsNewerThanTheListComesLast(t *testing.T) {
	d := newDocuments(gvk("", "v1", "Pod"), gvk("zoo.example", "v1", "Thing"))
	m := newMapper(d)
	mustFind(t, m, "v1 things", gvk("zoo.example", "v1", "Thing"), "v1")
	d.install(gvk("a.example", "v1", "Thing"), gvk("b.example", "v1", "Thing"))
	mustFind(t, m, "v1 things", gvk("b.example", "v1", "Thing"), "v1")
	mustFind(t, m, "v1 things", gvk("a.example", "v1", "Thing"), "v1")
	require.Equal(t, []string{"groups", "zoo.example/v1", "b.example/v1", "a.example/v1"}, d.requests())
	for range 20 {
		kinds, err := m.KindsFor(schema.GroupVersionResource{Version: "v1", Resource: "things"})
		require.NoError(t, err)
		require.Equal(t, []schema.GroupVersionKind{gvk("zoo.example", "v1", "Thing"), gvk("a.example", "v1", "Thing"), gvk("b.example", "v1", "Thing")}, kinds)
	}
}

func TestAMissingKindIsNotAskedForWithoutEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDocuments(podKind)
		m := newMapper(d)
		for range 1000 {
			_, err := find(m, unknownKind, "v1")
			require.True(t, meta.IsNoMatchError(err), "%v", err)
		}
		require.Len(t, d.requests(), 1+askAgainBurst, "the list of groups, and a few times the group")
		mustFind(t, m, "v1 pods", podKind, "v1")
		require.Equal(t, []string{"v1"}, d.requests(), "other kinds can be asked for")
		time.Sleep(time.Minute)
		d.requests()
		for range 60 {
			time.Sleep(time.Second)
			for range 10 {
				_, err := find(m, unknownKind, "v1")
				require.Error(t, err)
			}
		}
		require.LessOrEqual(t, len(d.requests()), 60+askAgainBurst)
		d.install(unknownKind)
		time.Sleep(time.Second)
		mustFind(t, m, "v1 nothings", unknownKind, "v1")
	})
}

func TestCallersWhoAskForTheSameShareARequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDocuments(podKind, deployKind)
		m := newMapper(d)
		mustFind(t, m, "v1 pods", podKind, "v1")
		d.requests()
		d.delay = time.Second
		var callers sync.WaitGroup
		for range 100 {
			callers.Go(func() { mustFind(t, m, "v1 deployments", deployKind, "v1") })
		}
		synctest.Wait()
		mustFind(t, m, "v1 pods", podKind, "v1") // and nobody who can be answered waits
		require.Equal(t, []string{"apps/v1"}, d.requests())
		callers.Wait()
		require.Empty(t, d.requests())

		// A missing kind takes a second request: it may have been installed while the first was under way.
		for range 100 {
			callers.Go(func() {
				_, err := find(m, unknownKind, "v1")
				require.True(t, meta.IsNoMatchError(err))
			})
		}
		callers.Wait()
		require.Len(t, d.requests(), 2)
	})
}

func TestAKindThatIsInstalledWhileSomebodyAsksIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDocuments(podKind)
		m := newMapper(d)
		mustFind(t, m, "v1 pods", podKind, "v1")
		slow := &slowAnswer{documents: d}
		m.server = slow
		early := make(chan error, 1)
		go func() { _, err := find(m, widgetV1, "v1"); early <- err }()
		synctest.Wait()
		d.install(widgetV1) // the server has answered already, and the answer is on its way
		mustFind(t, m, "v1 widgets", widgetV1, "v1")
		<-early
	})
}

// slowAnswer is a server whose answers take long to arrive.
type slowAnswer struct{ *documents }

// Resources implements server.
func (s *slowAnswer) Resources(ctx context.Context, gv schema.GroupVersion) (*metav1.APIResourceList, error) {
	resources, err := s.documents.Resources(ctx, gv)
	time.Sleep(time.Second)
	return resources, err
}

func TestADiscoveryDocumentIsReadFromARealConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(fakeapi.Options{})
		defer server.Close()
		_, err := NewDynamicRESTMapper(server.Config(), nil)
		require.ErrorContains(t, err, "rest.HTTPClientFor")
		config := server.Config()
		httpClient, err := rest.HTTPClientFor(config)
		require.NoError(t, err)
		m, err := NewDynamicRESTMapper(config, httpClient)
		require.NoError(t, err)
		mustFind(t, m, "v1 deployments", deployKind)
		_, err = find(m, widgetV1, "v1")
		require.True(t, meta.IsNoMatchError(err))
		server.Register(fakeapi.Kind{Group: "shop.example", Version: "v1", Kind: "Widget"})
		mustFind(t, m, "v1 widgets", widgetV1, "v1")
		_, err = NewDynamicRESTMapper(&rest.Config{Host: "://"}, http.DefaultClient)
		require.Error(t, err)
	})
}
