package fake_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/fake"
)

// These are the points in which tests that were written for controller-runtime's fake client break
// without LikeControllerRuntime. benchmarks/manager compares the two clients in all of them.

func like() *fake.ClientBuilder { return builder().LikeControllerRuntime() }

func isGone(t *testing.T, c client.Client, obj client.Object) bool {
	t.Helper()
	err := c.Get(t.Context(), client.ObjectKeyFromObject(obj), obj)
	require.NoError(t, client.IgnoreNotFound(err))
	return apierrors.IsNotFound(err)
}

func TestADeletionInTheForegroundLeavesNothingIfTheTestSaysSo(t *testing.T) {
	for _, policy := range []metav1.DeletionPropagation{metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan} {
		c := like().WithObjects(widget("a")).Build()
		require.NoError(t, c.Delete(t.Context(), widget("a"), client.PropagationPolicy(policy)))
		require.True(t, isGone(t, c, widget("a")), "%s: tests of what is deleted after a time to live rely on it", policy)

		c = builder().WithObjects(widget("a")).Build()
		require.NoError(t, c.Delete(t.Context(), widget("a"), client.PropagationPolicy(policy)))
		require.False(t, isGone(t, c, widget("a")), "%s: in a cluster the garbage collector has to come first", policy)
	}
	onNode := pod("p")
	onNode.Spec.NodeName = "n"
	c := like().WithObjects(onNode).Build()
	require.NoError(t, c.Delete(t.Context(), pod("p")))
	require.True(t, isGone(t, c, pod("p")), "there is no kubelet to wait for")
}

func TestANamespaceIsAPartOfTheNameIfTheTestSaysSo(t *testing.T) {
	ctx, nowhere := t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	c := like().WithObjects(nowhere, pod("b")).Build()
	require.False(t, isGone(t, c, nowhere))
	require.True(t, isGone(t, c, pod("a")), "it is another object")
	require.True(t, isGone(t, c, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "b"}}), "a webhook's test asks without a namespace")
	require.True(t, isGone(t, c, &corev1.Pod{}))
	require.True(t, apierrors.IsNotFound(c.Delete(ctx, &corev1.Pod{})))

	list := &corev1.PodList{}
	require.NoError(t, c.List(ctx, list))
	require.Len(t, list.Items, 2)
	require.NoError(t, c.List(ctx, list, client.InNamespace("shop")))
	require.Len(t, list.Items, 1)

	merge := client.RawPatch(types.MergePatchType, []byte(`{"status":{"reason":"x"}}`))
	require.NoError(t, c.Status().Patch(ctx, nowhere, merge))
	require.NoError(t, c.Apply(ctx, applycorev1.Pod("a", "").WithLabels(map[string]string{"a": "b"}), client.FieldOwner("me")))
	require.NoError(t, c.Status().Apply(ctx, applycorev1.Pod("a", "").WithStatus(applycorev1.PodStatus().WithMessage("y")), client.FieldOwner("me")))
	require.False(t, isGone(t, c, nowhere))
	require.Equal(t, "x y b", nowhere.Status.Reason+" "+nowhere.Status.Message+" "+nowhere.Labels["a"])
	require.NoError(t, c.Delete(ctx, nowhere))

	require.NoError(t, c.Create(ctx, &corev1.Node{ObjectMeta: inShop("n")}))
	require.True(t, isGone(t, c, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}))
	_, err := c.IsObjectNamespaced(&corev1.Node{})
	require.True(t, meta.IsNoMatchError(err), "a mapper that knows kinds has to be given")
}

// Tests of admission and of names that are generated elsewhere have such objects.
func TestAnObjectOfTheBuilderNeedsNoNameIfTheTestSaysSo(t *testing.T) {
	c := like().WithObjects(&corev1.ConfigMap{}).Build()
	require.False(t, isGone(t, c, &corev1.ConfigMap{}))
}

// The next line of the program may be an assignment, which panics if the map is nil.
func TestAnEmptyMapStaysAnEmptyMapIfTheTestSaysSo(t *testing.T) {
	c := like().Build()
	made := configMap("a")
	made.Annotations, made.Data = map[string]string{}, map[string]string{}
	require.NoError(t, c.Create(t.Context(), made))
	made.Annotations["a"], made.Data["b"] = "c", "d"
	require.NoError(t, c.Update(t.Context(), made))
	require.Equal(t, "c", read(t, c, configMap("a")).Annotations["a"])
}

// A scheme is often shared by all tests of a package, which run in parallel.
func TestAKindWithoutAGoTypeStaysOutOfTheScheme(t *testing.T) {
	c := like().Build()
	stranger := looseWidget("a")
	stranger.SetKind("Stranger")
	require.NoError(t, c.Create(t.Context(), stranger))
	require.False(t, c.Scheme().Recognizes(shop.WithKind("Stranger")))
}

func TestWhatIsStoredIsWhatWasGivenIfTheTestSaysSo(t *testing.T) {
	c := like().Build()
	odd := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "Odd", UID: "mine", Generation: 7,
		CreationTimestamp: metav1.Unix(1, 0), Labels: map[string]string{"no label": ""}}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}
	given := odd.DeepCopy()
	require.NoError(t, c.Create(t.Context(), odd))
	given.ResourceVersion = "1"
	require.Equal(t, given, read(t, c, &corev1.Pod{ObjectMeta: odd.ObjectMeta}), "nothing is refused, and nothing is added")

	odd.Generation, odd.UID = 8, "other"
	require.NoError(t, c.Update(t.Context(), odd))
	odd.Labels["a"], odd.Status.Phase = "b", corev1.PodFailed
	require.NoError(t, c.Status().Update(t.Context(), odd))
	got := read(t, c, &corev1.Pod{ObjectMeta: odd.ObjectMeta})
	require.EqualValues(t, 8, got.Generation, "tests count generations themselves")
	require.EqualValues(t, "other", got.UID)
	require.NotContains(t, got.Labels, "a", "a write of the status changes nothing else")
	require.Equal(t, corev1.PodFailed, got.Status.Phase)
}

func TestEachObjectCountsItsVersionsIfTheTestSaysSo(t *testing.T) {
	seed := configMap("seed")
	c := like().WithObjects(seed).Build()
	require.Equal(t, "999", seed.ResourceVersion)
	require.NoError(t, c.Update(t.Context(), seed))
	require.Equal(t, "1000", seed.ResourceVersion, "an update that changes nothing counts, too")
	for _, name := range []string{"a", "b"} {
		cm := configMap(name)
		require.NoError(t, c.Create(t.Context(), cm))
		require.Equal(t, "1", cm.ResourceVersion)
	}
	list := &corev1.ConfigMapList{}
	require.NoError(t, c.List(t.Context(), list, client.Limit(1)))
	require.Len(t, list.Items, 3, "tests do not ask for a second page")
	require.Empty(t, list.ResourceVersion)

	c = like().WithGlobalResourceVersionCounter().Build()
	one, two := configMap("a"), configMap("b")
	require.NoError(t, c.Create(t.Context(), one))
	require.NoError(t, c.Create(t.Context(), two))
	require.NotEqual(t, one.ResourceVersion, two.ResourceVersion)
}

func TestAWatchBeginsWithTheNextChangeIfTheTestSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := like().WithObjects(configMap("old")).Build()
		w, err := c.Watch(t.Context(), &corev1.ConfigMapList{}, client.MatchingLabels{"a": "b"})
		require.NoError(t, err)
		defer w.Stop()
		require.NoError(t, c.Create(t.Context(), configMap("new")))
		event := <-w.ResultChan()
		require.Equal(t, "new", event.Object.(*corev1.ConfigMap).Name, "what is there already is no event, and a selector selects nothing")
	})
}

// A test that updates what is gone, by mistake, must not bring it back.
func TestAnUpdateOfWhatIsGoneIsACreateIfTheTestSaysSo(t *testing.T) {
	service := func() *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
	}
	c := like().Build()
	stale := service()
	stale.ResourceVersion = "5"
	require.ErrorContains(t, c.Update(t.Context(), stale), "resourceVersion")
	require.True(t, isGone(t, c, service()))

	given := service()
	given.UID = "given"
	given.Status.Conditions = []metav1.Condition{{Type: "Ready"}}
	require.NoError(t, c.Update(t.Context(), given))
	made := service()
	require.False(t, isGone(t, c, made))
	require.Equal(t, types.UID("given"), made.UID)
	require.Len(t, made.Status.Conditions, 1)
}

// The fake has no kubelet that would end a grace period.
func TestTheLastFinalizerEndsAnObjectWhateverItsGracePeriodIfTheTestSaysSo(t *testing.T) {
	ending := pod("p")
	ending.Finalizers, ending.DeletionTimestamp, ending.DeletionGracePeriodSeconds = []string{"example.com/hold"}, new(metav1.Now()), new(int64(30))
	c := like().WithObjects(ending).Build()
	held := pod("p")
	require.False(t, isGone(t, c, held))
	held.Finalizers = nil
	require.NoError(t, c.Update(t.Context(), held))
	require.True(t, isGone(t, c, pod("p")))
}

// It must not end the test binary, and hide what else fails.
func TestACallAboutNilIsAnError(t *testing.T) {
	for _, c := range []client.Client{builder().Build(), like().Build()} {
		for _, obj := range []client.Object{nil, (*corev1.Pod)(nil)} {
			merge := client.RawPatch(types.MergePatchType, []byte("{}"))
			for _, err := range []error{
				c.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "a"}, obj), c.Create(t.Context(), obj), c.Update(t.Context(), obj),
				c.Patch(t.Context(), obj, merge), c.Patch(t.Context(), pod("p"), nil), c.Delete(t.Context(), obj), c.DeleteAllOf(t.Context(), obj),
				c.Status().Update(t.Context(), obj), c.Status().Patch(t.Context(), obj, merge), c.SubResource("scale").Get(t.Context(), obj, pod("p")),
			} {
				require.Error(t, err)
			}
		}
		require.Error(t, c.List(t.Context(), nil))
		require.Error(t, c.List(t.Context(), (*corev1.PodList)(nil)))
		require.Error(t, c.Apply(t.Context(), nil))
		require.Error(t, c.Apply(t.Context(), (*applycorev1.PodApplyConfiguration)(nil)))
	}
}

// Tests compare what a list returns with the objects that they have put in.
func TestObjectsOfAListHaveNoKindIfTheTestSaysSo(t *testing.T) {
	byName := func(obj client.Object) []string { return []string{obj.GetName()} }
	c := like().WithObjects(widget("a")).WithIndex(&Widget{}, "name", byName).Build()
	for _, by := range [][]client.ListOption{nil, {client.MatchingFields{"name": "a"}}} {
		list := &WidgetList{}
		require.NoError(t, c.List(t.Context(), list, by...))
		require.Len(t, list.Items, 1)
		require.Empty(t, list.Items[0].TypeMeta)
	}
	got := widget("a")
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(got), got))
	require.Empty(t, got.TypeMeta)

	untyped := &unstructured.UnstructuredList{}
	untyped.SetGroupVersionKind(shop.WithKind("WidgetList"))
	require.NoError(t, c.List(t.Context(), untyped))
	require.Equal(t, "Widget", untyped.Items[0].GetKind(), "without a Go type, the kind is all that says what it is")
}

// readingPatch reads before it patches, as some patches of users do.
type readingPatch struct {
	client.Patch
	client client.Client
}

// Data implements client.Patch.
func (p readingPatch) Data(obj client.Object) ([]byte, error) {
	if err := p.client.Get(context.Background(), client.ObjectKeyFromObject(obj), configMap("")); err != nil {
		return nil, err
	}
	return p.Patch.Data(obj)
}

// A reconciler has several workers, and a patch may be anybody's code.
func TestSeveralGoroutinesMayUseTheClientIfItIsLikeControllerRuntimesToo(t *testing.T) {
	c := like().WithObjects(configMap("shared")).Build()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			stranger := looseWidget(strconv.Itoa(i))
			stranger.SetKind("Stranger" + strconv.Itoa(i%2))
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(stranger.GroupVersionKind())
			label := readingPatch{client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`)), c}
			for _, err := range []error{
				c.Create(t.Context(), stranger), c.List(t.Context(), list), c.Patch(t.Context(), configMap("shared"), label),
				c.Get(t.Context(), client.ObjectKeyFromObject(stranger), stranger), c.Delete(t.Context(), stranger),
			} {
				assert.NoError(t, err)
			}
		})
	}
	all.Wait()
	require.Equal(t, "1007", read(t, c, configMap("shared")).ResourceVersion)
}
