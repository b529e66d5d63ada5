package controllertest_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/manager/controller/controllertest"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/workqueue"
)

// heard is a handler that writes down what it is told.
func heard(by string, told *[]string) informer.ResourceEventHandler {
	name := func(object any) string { return object.(*corev1.Pod).Name }
	return informer.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(object any, initial bool) {
			*told = append(*told, by+" add "+name(object))
			if initial {
				*told = append(*told, "of the initial list")
			}
		},
		UpdateFunc: func(old, object any) { *told = append(*told, by+" update "+name(old)+" to "+name(object)) },
		DeleteFunc: func(object any) { *told = append(*told, by+" delete "+name(object)) },
	}
}

func pod(name string) *corev1.Pod { return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}} }

// A test that asserts right after Add would fail now and then if handlers were told later.
func TestAFakeInformerHasToldAllItsHandlersWhenItReturns(t *testing.T) {
	var told []string
	fake := controllertest.NewFakeInformer()
	fake.Add(pod("nobody hears of it"))
	_, err := fake.AddEventHandler(heard("first", &told))
	require.NoError(t, err)
	_, err = fake.AddEventHandlerWithResyncPeriod(heard("second", &told), 1)
	require.NoError(t, err)
	_, err = fake.Informer().AddEventHandlerWithOptions(heard("third", &told), informer.ResourceEventHandlerOptions{})
	require.NoError(t, err)
	fake.Add(pod("web"))
	require.Equal(t, []string{"first add web", "second add web", "third add web"}, told)
	told = nil
	fake.Update(pod("web"), pod("web 2"))
	fake.Delete(pod("web 2"))
	require.Equal(t, []string{"first update web to web 2", "second update web to web 2", "third update web to web 2",
		"first delete web 2", "second delete web 2", "third delete web 2"}, told)
}

// A source that has ended removes its handler. A test would see its requests all the same.
func TestAHandlerThatWasRemovedFromAFakeInformerIsNotTold(t *testing.T) {
	var told []string
	fake := controllertest.NewFakeInformer()
	first, err := fake.AddEventHandler(heard("first", &told))
	require.NoError(t, err)
	_, err = fake.AddEventHandler(heard("second", &told))
	require.NoError(t, err)
	require.ErrorContains(t, controllertest.NewFakeInformer().RemoveEventHandler(first), "of another")
	require.ErrorContains(t, fake.RemoveEventHandler(nil), "<nil>")
	require.NoError(t, fake.RemoveEventHandler(first))
	fake.Add(pod("web"))
	require.Equal(t, []string{"second add web"}, told)
}

// What waits for an informer must wait in a test as well, or the test says nothing about it.
func TestAFakeInformerIsReadyWhenTheTestSaysSo(t *testing.T) {
	ready := controllertest.NewFakeInformer(controllertest.Synced)
	require.True(t, ready.HasSynced())
	fake := controllertest.NewFakeInformer()
	registration, err := fake.AddEventHandler(informer.ResourceEventHandlerFuncs{})
	require.NoError(t, err)
	require.False(t, fake.HasSynced())
	require.False(t, registration.HasSynced())
	for _, checker := range []informer.DoneChecker{fake.HasSyncedChecker(), registration.HasSyncedChecker()} {
		select {
		case <-checker.Done():
			require.Fail(t, "the checker says that the list is there")
		default:
		}
		require.NotEmpty(t, checker.Name(), "whoever waits for it has to say for what")
	}
	fake.Synced()
	require.True(t, fake.HasSynced())
	require.True(t, registration.HasSynced())
	<-registration.HasSyncedChecker().Done()
	require.False(t, fake.IsStopped())
	require.NoError(t, fake.AddIndexers(nil))
}

func TestAFakeInformerCountsItsRuns(t *testing.T) {
	fake := controllertest.NewFakeInformer()
	fake.Run(nil)
	require.Equal(t, 1, fake.RunCount)
	fake.RunWithContext(t.Context())
	require.Equal(t, 2, fake.RunCount)
}

func TestAQueueForTestsAddsEverythingAtOnce(t *testing.T) {
	queue := &controllertest.Queue{TypedInterface: workqueue.NewTyped[reconcile.Request]()}
	defer queue.ShutDown()
	a, b := reconcile.Request{}, reconcile.Request{}
	a.Name, b.Name = "a", "b"
	queue.AddAfter(a, 1<<40)
	require.Equal(t, 1, queue.Len())
	queue.AddRateLimited(b)
	require.Equal(t, 2, queue.Len())
	queue.AddRateLimited(a)
	require.Equal(t, []any{b, a}, queue.AddedRatelimited)
	require.Zero(t, queue.NumRequeues(b))
	queue.Forget(b)
	require.Equal(t, 2, queue.Len())
}

// A copy that shares its maps with the original changes what the cache holds.
func TestACopyOfAnUnconventionalListSharesNothing(t *testing.T) {
	made := func() *controllertest.UnconventionalListTypeList {
		return &controllertest.UnconventionalListTypeList{
			TypeMeta: metav1.TypeMeta{Kind: "UnconventionalListTypeList"},
			ListMeta: metav1.ListMeta{ResourceVersion: "7", RemainingItemCount: new(int64(1))},
			Items: []*controllertest.UnconventionalListType{{
				TypeMeta:   metav1.TypeMeta{Kind: "UnconventionalListType"},
				ObjectMeta: metav1.ObjectMeta{Name: "web", Labels: map[string]string{"app": "web"}},
				Spec:       "green",
			}},
		}
	}
	list := made()
	copied := list.DeepCopyObject().(*controllertest.UnconventionalListTypeList)
	require.Equal(t, made(), copied)
	*copied.RemainingItemCount = 2
	copied.Items[0].Spec = "red"
	copied.Items[0].Labels["app"] = "db"
	require.Equal(t, made(), list)
	one := list.Items[0].DeepCopyObject().(*controllertest.UnconventionalListType)
	require.Equal(t, list.Items[0], one)
	one.Labels["app"] = "db"
	require.Equal(t, made(), list)
}

func TestAnObjectThatNoSchemeKnowsIsAnObject(t *testing.T) {
	_, _, err := runtime.NewScheme().ObjectKinds(controllertest.ErrorType{})
	require.Error(t, err)
	require.Nil(t, controllertest.ErrorType{}.GetObjectKind())
	require.Nil(t, controllertest.ErrorType{}.DeepCopyObject())
}
