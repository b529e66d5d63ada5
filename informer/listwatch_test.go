package informer

import (
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"

	"github.com/loopwright/loopwright/trace"
)

func TestAListHoldsTheWholeCollectionAndNothingElse(t *testing.T) {
	onEachServer(t, func(t *testing.T, w world) {
		w.create(t, "apple", map[string]string{"test": "yes", "color": "red"})
		w.create(t, "banana", nil)
		w.create(t, "onion", map[string]string{"color": "red"})

		list, err := w.listWatch(t, ListWatchOptions{}).List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		require.Equal(t, []string{"apple", "banana"}, namesOf(list.Items))
		require.NotEmpty(t, list.ResourceVersion)
		require.Empty(t, list.Continue)

		list, err = w.listWatch(t, ListWatchOptions{LabelSelector: "color=red"}).List(t.Context(),
			metav1.ListOptions{})
		require.NoError(t, err)
		require.Equal(t, []string{"apple", "onion"}, namesOf(list.Items))

		list, err = w.listWatch(t, ListWatchOptions{FieldSelector: "metadata.name=banana"}).List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		require.Equal(t, []string{"banana"}, namesOf(list.Items))
	})
}

func TestJSONAndProtobufBringTheSameObjects(t *testing.T) {
	onEachServer(t, func(t *testing.T, w world) {
		w.create(t, "apple", nil)
		w.change(t, "apple", 1)
		protobuf, err := w.listWatch(t, ListWatchOptions{}).List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		json, err := w.listWatch(t, ListWatchOptions{JSON: true}).List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		require.Equal(t, protobuf.Items, json.Items)

		from := metav1.ListOptions{ResourceVersion: protobuf.ResourceVersion}
		want := w.change(t, "apple", 2)
		for _, asJSON := range []bool{false, true} {
			watching, err := w.listWatch(t, ListWatchOptions{JSON: asJSON}).Watch(t.Context(), from)
			require.NoError(t, err)
			event, err := watching.Next()
			require.NoError(t, err)
			require.Equal(t, want.Data, event.Object.Data)
			require.Equal(t, want.ResourceVersion, event.ResourceVersion)
			require.NoError(t, watching.Close())
		}
	})
}

// A reader that pages through a collection while it changes must not end up with
// half of the old one and half of the new one.
func TestPagesShowOneMomentHoweverLongTheyTake(t *testing.T) {
	onEachServer(t, func(t *testing.T, w world) {
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			w.create(t, name, nil)
		}
		var names, moments []string
		for page, err := range Pages(t.Context(), w.listWatch(t, ListWatchOptions{}),
			metav1.ListOptions{Limit: 2}) {
			require.NoError(t, err)
			names = append(names, namesOf(page.Items)...)
			moments = append(moments, page.ResourceVersion)
			if len(moments) == 1 {
				w.create(t, "aa", nil)
				w.delete(t, "e")
			}
		}
		require.Equal(t, []string{"a", "b", "c", "d", "e"}, names)
		require.Len(t, moments, 3)
		require.Equal(t, moments[0], moments[1])
		require.Equal(t, moments[0], moments[2])
	})
}

func TestAWatchTellsEverythingThatHappenedSinceTheListInOrder(t *testing.T) {
	onEachServer(t, func(t *testing.T, w world) {
		listWatch := w.listWatch(t, ListWatchOptions{})
		w.create(t, "apple", nil)
		list, err := listWatch.List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)

		changed := w.change(t, "apple", 1)
		made := w.create(t, "banana", nil)
		w.create(t, "onion", map[string]string{"not": "ours"})
		w.delete(t, "apple")

		watching, err := listWatch.Watch(t.Context(),
			metav1.ListOptions{ResourceVersion: list.ResourceVersion})
		require.NoError(t, err)
		defer func() { _ = watching.Close() }()
		for _, want := range []struct {
			kind          watch.EventType
			name, version string
		}{
			{watch.Modified, "apple", changed.ResourceVersion},
			{watch.Added, "banana", made.ResourceVersion},
			{watch.Deleted, "apple", ""},
		} {
			event, err := watching.Next()
			require.NoError(t, err)
			require.Equal(t, want.kind, event.Type)
			require.Equal(t, want.name, event.Object.Name)
			if want.version != "" {
				require.Equal(t, want.version, event.ResourceVersion)
			} else {
				// A deletion has a resourceVersion of its own, not that of the
				// object's last change.
				require.NotEqual(t, changed.ResourceVersion, event.ResourceVersion)
			}
		}
	})
}

// The text calls these two values harmless-looking; here is what they do.
func TestAWatchFromNowhereOrFromZeroRepeatsWhatThereIs(t *testing.T) {
	onEachServer(t, func(t *testing.T, w world) {
		listWatch := w.listWatch(t, ListWatchOptions{})
		made := w.create(t, "apple", nil)
		for _, version := range []string{"", "0"} {
			watching, err := listWatch.Watch(t.Context(), metav1.ListOptions{ResourceVersion: version})
			require.NoError(t, err)
			event, err := watching.Next()
			require.NoError(t, err)
			require.Equal(t, watch.Added, event.Type)
			require.Equal(t, made.ResourceVersion, event.ResourceVersion)
			require.NoError(t, watching.Close())
		}
	})
}

func TestAWatchEndsInGoodOrderWhenItsTimeIsUp(t *testing.T) {
	onEachServer(t, func(t *testing.T, w world) {
		list, err := w.listWatch(t, ListWatchOptions{}).List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		watching, err := w.listWatch(t, ListWatchOptions{}).Watch(t.Context(), metav1.ListOptions{
			ResourceVersion: list.ResourceVersion, TimeoutSeconds: ptr.To[int64](1),
		})
		require.NoError(t, err)
		_, err = watching.Next()
		require.Equal(t, io.EOF, err)
		_, err = watching.Next()
		require.Equal(t, io.EOF, err, "a watch that has ended stays ended")
	})
}

func TestABookmarkTellsThatTheRestOfTheServerHasMovedOn(t *testing.T) {
	onEachServer(t, func(t *testing.T, w world) {
		list, err := w.listWatch(t, ListWatchOptions{}).List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		var watching Watch[*corev1.ConfigMap]
		var made *corev1.ConfigMap
		// A server sends the bookmark two seconds before the end. A busy machine may
		// take longer than that to write the object: then this proves nothing.
		for try := 0; ; try++ {
			began := time.Now()
			watching, err = w.listWatch(t, ListWatchOptions{}).Watch(t.Context(), metav1.ListOptions{
				ResourceVersion: list.ResourceVersion, AllowWatchBookmarks: true,
				TimeoutSeconds: ptr.To[int64](4),
			})
			require.NoError(t, err)
			made = w.create(t, fmt.Sprint("onion-", try), map[string]string{"not": "ours"})
			if time.Since(began) < time.Second || try == 10 {
				break
			}
			require.NoError(t, watching.Close())
		}
		event, err := watching.Next()
		require.NoError(t, err)
		require.Equal(t, watch.Bookmark, event.Type)
		require.Empty(t, event.Object.Name)
		// Others may have written to a real server since: then the bookmark is newer.
		order, err := resourceversion.CompareResourceVersion(event.ResourceVersion, made.ResourceVersion)
		require.NoError(t, err)
		require.GreaterOrEqual(t, order, 0, "the bookmark's %s is older than %s, which came before it",
			event.ResourceVersion, made.ResourceVersion)
		require.NoError(t, watching.Close())
	})
}

func TestCloseWakesAReaderThatWaits(t *testing.T) {
	onEachServer(t, func(t *testing.T, w world) {
		list, err := w.listWatch(t, ListWatchOptions{}).List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		watching, err := w.listWatch(t, ListWatchOptions{}).Watch(t.Context(),
			metav1.ListOptions{ResourceVersion: list.ResourceVersion})
		require.NoError(t, err)
		woken := make(chan error, 1) // one: the reader's only answer
		go func() {
			_, err := watching.Next()
			woken <- err
		}()
		require.NoError(t, watching.Close())
		require.ErrorIs(t, <-woken, ErrWatchClosed)
	})
}

func TestTheEndOfItsContextEndsAWatch(t *testing.T) {
	onEachServer(t, func(t *testing.T, w world) {
		list, err := w.listWatch(t, ListWatchOptions{}).List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		watching, err := w.listWatch(t, ListWatchOptions{}).Watch(ctx,
			metav1.ListOptions{ResourceVersion: list.ResourceVersion})
		require.NoError(t, err)
		time.AfterFunc(10*time.Millisecond, cancel)
		_, err = watching.Next()
		require.ErrorIs(t, err, context.Canceled)
	})
}

func TestARefusalCanBeToldApart(t *testing.T) {
	onEachServer(t, func(t *testing.T, w world) {
		unknown, err := NewListWatch[*corev1.ConfigMap](w.config,
			corev1.SchemeGroupVersion.WithResource("conifgmaps"), ListWatchOptions{Namespace: w.namespace})
		require.NoError(t, err)
		_, err = unknown.List(t.Context(), metav1.ListOptions{})
		require.True(t, apierrors.IsNotFound(err), "%v", err)
		require.ErrorContains(t, err, "listing conifgmaps in namespace "+w.namespace)

		_, err = w.listWatch(t, ListWatchOptions{}).Watch(t.Context(),
			metav1.ListOptions{ResourceVersion: "yesterday"})
		var status apierrors.APIStatus
		require.ErrorAs(t, err, &status)
		// One would expect 400, but an API server takes it for its own mistake.
		require.EqualValues(t, 500, status.Status().Code)
		require.ErrorContains(t, err, "yesterday")

		_, err = w.listWatch(t, ListWatchOptions{FieldSelector: "data.value=1"}).List(t.Context(),
			metav1.ListOptions{})
		require.True(t, apierrors.IsBadRequest(err), "%v", err)
	})
}

func TestATypeThatIsNotTheResourcesIsRefusedNotMisread(t *testing.T) {
	onEachServer(t, func(t *testing.T, w world) {
		w.create(t, "apple", nil)
		mistaken, err := NewListWatch[*corev1.Secret](w.config, configMapResource,
			ListWatchOptions{Namespace: w.namespace})
		require.NoError(t, err)
		_, err = mistaken.List(t.Context(), metav1.ListOptions{})
		require.ErrorContains(t, err, "the server sent a *v1.ConfigMap where a *v1.Secret was asked for")
	})
}

func TestATypeThatTheSchemeDoesNotKnowIsRefusedAtOnce(t *testing.T) {
	_, err := NewListWatch[*corev1.ConfigMap](world{}.config, configMapResource,
		ListWatchOptions{Scheme: runtime.NewScheme()})
	require.ErrorContains(t, err, "AddToScheme")
}

func TestTheRecorderTellsTheStoryOfAReader(t *testing.T) {
	onEachServer(t, func(t *testing.T, w world) {
		recorder := trace.New(0)
		listWatch := w.listWatch(t, ListWatchOptions{Recorder: recorder})
		list, err := listWatch.List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		watching, err := listWatch.Watch(t.Context(),
			metav1.ListOptions{ResourceVersion: list.ResourceVersion})
		require.NoError(t, err)
		made := w.create(t, "apple", nil)
		_, err = watching.Next()
		require.NoError(t, err)
		require.NoError(t, watching.Close())
		_, err = watching.Next()
		require.ErrorIs(t, err, ErrWatchClosed)

		var kinds []trace.Kind
		for _, event := range recorder.Events() {
			kinds = append(kinds, event.Kind)
		}
		require.Equal(t, []trace.Kind{trace.List, trace.WatchStart, trace.WatchEvent, trace.WatchEnd},
			kinds)
		require.Equal(t, made.ResourceVersion, recorder.Events()[2].Version)
	})
}

// Both are watches, and both may have a version, but it means different things.
func TestTheRecorderTellsAStreamOfAllThereIsFromAWatchThatGoesOn(t *testing.T) {
	onEachServer(t, func(t *testing.T, w world) {
		recorder := trace.New(0)
		listWatch := w.listWatch(t, ListWatchOptions{Recorder: recorder})
		list, err := listWatch.List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		var told []string
		for _, options := range []metav1.ListOptions{
			{ResourceVersion: list.ResourceVersion},
			{ResourceVersion: list.ResourceVersion, SendInitialEvents: new(true),
				ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, AllowWatchBookmarks: true},
		} {
			watching, err := listWatch.Watch(t.Context(), options)
			require.NoError(t, err)
			require.NoError(t, watching.Close())
		}
		for _, event := range recorder.Events() {
			if event.Kind == trace.WatchStart {
				require.Equal(t, list.ResourceVersion, event.Version)
				told = append(told, event.Op)
			}
		}
		require.Equal(t, []string{"", trace.WatchList}, told)
	})
}
