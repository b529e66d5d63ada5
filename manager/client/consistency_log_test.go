package client

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

func TestTheNewestVersionIsRemembered(t *testing.T) {
	var log writeLog
	log.wrote(shopKey("a"), "9", true)
	log.wrote(shopKey("a"), "10", true)
	log.wrote(shopKey("a"), "7", true)
	version, _, deleted := log.answered(shopKey("a"))
	require.Equal(t, "10", version, "answers may overtake each other, and 10 is more than 9")
	require.Empty(t, deleted)
	require.Empty(t, log.writesInFlight(shopKey("b")))
}

func TestVersionsWithoutAnOrderAreNotRemembered(t *testing.T) {
	var log writeLog
	for _, version := range []string{"", "abc"} {
		log.wrote(shopKey("a"), version, true)
	}
	require.Empty(t, log.keys(""), "every read would fail, because nobody can wait for them")
}

func TestWhatIsWrittenDuringAWaitIsNotForgotten(t *testing.T) {
	var log writeLog
	log.wrote(shopKey("a"), "7", true)
	log.removed(shopKey("a"), "first")
	version, _, deleted := log.answered(shopKey("a"))
	log.wrote(shopKey("a"), "8", true)
	log.removed(shopKey("a"), "second")
	log.seen(shopKey("a"), version, deleted)
	version, _, deleted = log.answered(shopKey("a"))
	require.Equal(t, "8", version)
	require.Equal(t, []types.UID{"second"}, deleted)
	log.seen(shopKey("a"), version, deleted)
	require.Empty(t, log.keys(""))
	log.seen(shopKey("a"), version, deleted) // two reads may have waited for the same
	require.Empty(t, log.keys(""))
}

// An object may be deleted and made again several times before anybody reads it.
func TestAllThatWereDeletedAreRemembered(t *testing.T) {
	var log writeLog
	log.removed(shopKey("a"), "first")
	log.removed(shopKey("a"), "second")
	log.wrote(shopKey("a"), "7", true)
	version, _, deleted := log.answered(shopKey("a"))
	require.Equal(t, "7", version)
	require.Equal(t, []types.UID{"first", "second"}, deleted)
	log.seen(shopKey("a"), "7", []types.UID{"first"})
	_, _, deleted = log.answered(shopKey("a"))
	require.Equal(t, []types.UID{"second"}, deleted)
}

func TestKeysAreThoseOfTheNamespace(t *testing.T) {
	var log writeLog
	log.wrote(shopKey("a"), "7", true)
	log.wrote(ObjectKey{Namespace: "other", Name: "a"}, "7", true)
	require.Equal(t, []ObjectKey{shopKey("a")}, log.keys("shop"))
	require.Len(t, log.keys(""), 2)
}

func TestAWriteIsUnderWayUntilItIsDone(t *testing.T) {
	var log writeLog
	first, second := log.begin(shopKey("a")), log.begin(shopKey("a"))
	writes := log.writesInFlight(shopKey("a"))
	require.Len(t, writes, 2)
	first()
	require.Len(t, log.writesInFlight(shopKey("a")), 1)
	second()
	for _, write := range writes {
		<-write
	}
	require.Empty(t, log.keys(""))
}

func TestPruningIsWorthWhileWhenTheNumberHasDoubled(t *testing.T) {
	var log writeLog
	add := func(n int) {
		for range n {
			log.wrote(shopKey(string(rune('a'+len(log.entries)))), "7", true)
		}
	}
	add(pruneFrom - 1)
	require.False(t, log.wantsPruning())
	add(1)
	require.True(t, log.wantsPruning())
	require.False(t, log.wantsPruning(), "somebody is at it")
	log.pruned() // and nothing could be dropped
	add(pruneFrom - 1)
	require.False(t, log.wantsPruning())
	add(1)
	require.True(t, log.wantsPruning())
}

// The answer to a delete is a status, or the object, which may be gone all the same.
func TestADeleteHasLeftWhatTheAnswerSays(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		ctx := w.Context()
		held := heldWidget("held")
		running := pod("running")
		running.Spec.NodeName = "node"
		w.mustCreate(heldWidget("unknown"))
		unknown := metadataOf(widgetKind, "unknown") // the decoder has no Go type for the answer
		require.NoError(w, w.Get(ctx, shopKey("unknown"), unknown))
		objects := []Object{configMap("status"), widget("status"), held, pod("returned"), running, deployment("status"), &corev1.ServiceAccount{ObjectMeta: inShop("returned")}}
		w.mustCreate(objects...)
		namespace := &corev1.Namespace{}
		require.NoError(w, w.Get(ctx, ObjectKey{Name: "shop"}, namespace))
		objects = append(objects, unknown, namespace)
		isLeft := map[Object]bool{held: true, running: true, unknown: true, namespace: true}
		second := int64(1)
		grace := map[Object]*int64{running: &second}
		live := w.WithWatch.(*watchingClient).live
		for _, obj := range objects {
			gvk, err := w.GroupVersionKindFor(obj)
			require.NoError(w, err)
			answer := live.delete(ctx, obj, &DeleteOptions{GracePeriodSeconds: grace[obj]})
			require.NoError(w, answer.Error())
			left := deletionOf(answer, gvk)
			require.Equal(w, obj.GetUID(), left.uid, "%T %s", obj, obj.GetName())
			require.Equal(w, isLeft[obj], left.version != "", "%T %s", obj, obj.GetName())
			require.Equal(w, !isLeft[obj], left.isGone, "%T %s", obj, obj.GetName())
			if isLeft[obj] {
				require.True(w, isNewer(left.version, obj.GetResourceVersion()), "%T %s", obj, obj.GetName())
			}
		}
	})
}

func heldWidget(name string) *unstructured.Unstructured {
	u := widget(name)
	u.SetFinalizers([]string{"shop.example/wait"})
	return u
}

// A wait for something that never comes is worse than none.
func TestAnAnswerToADeleteThatNobodyUnderstandsSaysNothing(t *testing.T) {
	for _, body := range []string{`{}`, `[]`, `{"kind":"Surprise","apiVersion":"shop.example/v9"}`, `{"kind":"PodList","apiVersion":"v1"}`} {
		inWorld(t, Options{}, func(w *world) {
			w.mustCreate(configMap("a"))
			w.wire.next = roundTripper(func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body))}, nil
			})
			answer := w.WithWatch.(*watchingClient).live.delete(w.Context(), configMap("a"), &DeleteOptions{})
			require.NoError(w, answer.Error())
			require.Equal(w, deletion{}, deletionOf(answer, configMapKind), body)
		})
	}
}

func TestAStatusWithoutDetailsMeansThatTheObjectIsGone(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		w.mustCreate(configMap("a"))
		w.wire.next = roundTripper(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(`{"kind":"Status","apiVersion":"v1","status":"Success"}`))}, nil
		})
		answer := w.WithWatch.(*watchingClient).live.delete(w.Context(), configMap("a"), &DeleteOptions{})
		require.Equal(w, deletion{isGone: true}, deletionOf(answer, configMapKind))
	})
}

func TestTheUIDThatIsKnownIsTaken(t *testing.T) {
	uid := types.UID("precondition")
	require.Equal(t, uid, firstUID("", preconditionUID(&metav1.Preconditions{UID: &uid}), "object"))
	require.Equal(t, types.UID("object"), firstUID("", preconditionUID(nil), "object"))
	require.Empty(t, firstUID("", ""))
}
