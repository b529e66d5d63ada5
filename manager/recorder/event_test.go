package recorder

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/loopwright/loopwright/internal/tests/inorder"
)

var me = reporter{api: currentAPI, controller: "websites", instance: "websites-host"}

func valid() eventCall {
	return eventCall{regarding: pod("a"), eventType: "Normal", reason: "Scaled", action: "Scale",
		note: "n"}
}

func TestWhatNoEventMayHaveIsAnError(t *testing.T) {
	for name, c := range inorder.Map(map[string]struct {
		change func(*eventCall)
		want   string
	}{
		"another type": {func(s *eventCall) {
			s.eventType = "Info"
		}, `type "Info": it must be Normal or Warning`},
		"no reason": {func(s *eventCall) { s.reason = "" }, "they need 1 to 128 bytes"},
		"a novel as a reason": {func(s *eventCall) {
			s.reason = strings.Repeat("x", 129)
		}, "they need 1 to 128 bytes"},
		"a novel as an action": {func(s *eventCall) {
			s.action = strings.Repeat("x", 129)
		}, "they need 1 to 128 bytes"},
		"no object": {func(s *eventCall) {
			s.regarding = nil
		}, "the object that the event is about: it is nil"},
		"a nil pointer": {func(s *eventCall) {
			s.regarding = (*corev1.Pod)(nil)
		}, "the object that the event is about: it is nil"},
		"a kind that is new": {func(s *eventCall) {
			s.regarding = &unknown{}
		}, "the object that the event is about: its kind"},
		"a list": {func(s *eventCall) {
			s.regarding = &corev1.PodList{}
		}, "its metadata"},
		"a related one is new": {func(s *eventCall) {
			s.related = &unknown{}
		}, "the related object: its kind"},
	}) {
		t.Run(name, func(t *testing.T) {
			s := valid()
			c.change(&s)
			_, err := newEvent(scheme.Scheme, me, s, epoch, 1)
			require.ErrorContains(t, err, c.want)
		})
	}
}

type unknown struct{ corev1.Pod }

func TestALongNoteIsCutAndNotLost(t *testing.T) {
	s := valid()
	s.note = strings.Repeat("x", noteLimit)
	e, err := newEvent(scheme.Scheme, me, s, epoch, 1)
	require.NoError(t, err)
	require.Equal(t, s.note, e.Note, "it just fits")
	s.note = strings.Repeat("ä", noteLimit)
	e, err = newEvent(scheme.Scheme, me, s, epoch, 1)
	require.NoError(t, err)
	require.LessOrEqual(t, len(e.Note), noteLimit)
	require.True(t, strings.HasSuffix(e.Note, "ä..."))
	require.True(t, utf8.ValidString(e.Note), "no character is cut in two")
}

// JSON has three bytes for each byte that's no part of a character, so the note would be too long
// for the server again, which refuses it.
func TestBytesThatAreNoTextAreInANoteAsOneCharacter(t *testing.T) {
	s := valid()
	for note, want := range map[string]string{
		"read \xff\xfe": "read \ufffd",
		"read " + strings.Repeat("\x80", noteLimit):    "read \ufffd",
		"read " + strings.Repeat("\xffa", noteLimit/2): "read " + strings.Repeat("\ufffda", 254) + "...",
	} {
		s.note = note
		e, err := newEvent(scheme.Scheme, me, s, epoch, 1)
		require.NoError(t, err)
		require.Equal(t, want, e.Note)
		require.LessOrEqual(t, len(e.Note), noteLimit)
	}
}

func TestAnEventOfAClusterScopedObjectIsInDefault(t *testing.T) {
	s := valid()
	s.regarding = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	e, err := newEvent(scheme.Scheme, me, s, epoch, 1)
	require.NoError(t, err)
	require.Equal(t, "default", e.Namespace)
	require.Empty(t, e.Regarding.Namespace)
}

func TestAReferenceStandsForItself(t *testing.T) {
	s := valid()
	reference := &corev1.ObjectReference{Kind: "Website", APIVersion: "example.com/v1",
		Namespace: "shop", Name: "w", FieldPath: "spec.host"}
	s.regarding, s.related = reference, (*corev1.Pod)(nil)
	e, err := newEvent(scheme.Scheme, me, s, epoch, 1)
	require.NoError(t, err)
	require.Equal(t, *reference, e.Regarding)
	require.Nil(t, e.Related)
}

func TestAnObjectThatTheSchemeDoesNotKnowMaySayItsKind(t *testing.T) {
	s := valid()
	u := &unstructured.Unstructured{}
	u.SetAPIVersion("example.com/v1")
	u.SetKind("Website")
	u.SetName("w")
	s.regarding = u
	e, err := newEvent(runtime.NewScheme(), me, s, epoch, 1)
	require.NoError(t, err)
	require.Equal(t, corev1.ObjectReference{APIVersion: "example.com/v1", Kind: "Website",
		Name: "w"}, e.Regarding)
}

// The event is written later, and the caller may change its map until then.
func TestAnnotationsAreThoseOfTheCall(t *testing.T) {
	s := valid()
	s.annotations = map[string]string{"run": "1"}
	e, err := newEvent(scheme.Scheme, me, s, epoch, 1)
	require.NoError(t, err)
	s.annotations["run"] = "2"
	require.Equal(t, map[string]string{"run": "1"}, e.Annotations)
}

func TestAnEventsNameIsOneThatTheServerTakes(t *testing.T) {
	require.Equal(t, "web.ff", eventName("web", 255))
	require.Equal(t, "event.ff", eventName("system:node", 255), "names of roles may have colons")
	require.Equal(t, "event.ff", eventName("", 255))
	long := eventName(strings.Repeat("x", 253), 255)
	require.Len(t, long, 253)
	require.True(t, strings.HasSuffix(long, "x.ff"))
	require.Equal(t, strings.Repeat("x", 249)+".ff",
		eventName(strings.Repeat("x", 249)+".xxx", 255), "it does not end in two dots")
}

func TestALongHostNameDoesNotCostTheEvents(t *testing.T) {
	w := newWriter(nil, scheme.Scheme, Options{})
	w.host = strings.Repeat("h", 200)
	require.Len(t, w.reporter("websites").instance, 128)

	w.host = strings.Repeat("ä", 100)
	instance := w.reporter("websites").instance
	require.True(t, utf8.ValidString(instance), "%q is longer than the server's limit in JSON", instance)
	require.True(t, strings.HasSuffix(instance, "ä"))
}
