package informer

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/tests/inorder"
)

func TestAfterEvery410TheViewIsWholeAgain(t *testing.T) {
	for name, lose := range inorder.Map(map[string]func(s *fakeapi.Server){
		"as an HTTP status": func(s *fakeapi.Server) {
			s.Inject(fakeapi.Fault{Match: configMapWatches, Times: 1, Status: fakeapi.Expired()})
		},
		"as an event": func(s *fakeapi.Server) {},
	}) {
		t.Run(name, func(t *testing.T) {
			inMemory(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, w world) {
				w.create(t, "apple", nil)
				w.create(t, "banana", nil)
				s.Inject(fakeapi.Fault{Match: configMapWatches, Times: 1, CutAfter: 20 * time.Second,
					CutAbruptly: true})
				r := runReflector(t, w, ReflectorOptions{})
				r.view.untilIsThere(t, "apple", "banana")
				remove := s.Inject(fakeapi.Fault{Match: configMapWatches, Refuse: true})
				time.Sleep(30 * time.Second)
				w.delete(t, "banana")
				s.CompactAll()
				lose(s)
				remove()
				r.view.untilIsThere(t, "apple")
				require.Equal(t, 2, r.view.replaces)
				require.Contains(t, r.told(), "expired")
				r.legal(t)
			})
		})
	}
}

// Without a pause this test would make a million requests in its ten minutes.
func TestWatchesThatEndAtOnceAreNoBusyLoop(t *testing.T) {
	for name, fault := range inorder.Map(map[string]fakeapi.Fault{
		"in good order": {CutAfter: time.Nanosecond},
		"broken":        {CutAfter: time.Nanosecond, CutAbruptly: true},
		"refused":       {Refuse: true},
	}) {
		t.Run(name, func(t *testing.T) {
			inMemory(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, w world) {
				fault.Match = configMapWatches
				s.Inject(fault)
				runReflector(t, w, ReflectorOptions{})
				time.Sleep(10 * time.Minute)
				requests := len(s.Requests(configMapWatches))
				require.Less(t, requests, 60, "the pauses must grow")
				require.Greater(t, requests, 15, "and it must not stop trying")
			})
		})
	}
}

// A connection whose other end has vanished looks like a quiet collection.
func TestARequestThatHangsIsCut(t *testing.T) {
	for _, verb := range []string{"list", "watch"} {
		t.Run(verb, func(t *testing.T) {
			inMemory(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, w world) {
				w.create(t, "apple", nil)
				s.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "configmaps", Verb: verb}, Times: 1,
					Hang: true})
				began := time.Now()
				r := runReflector(t, w, ReflectorOptions{NoStream: verb == "list",
					RequestTimeout: 10 * time.Second})
				r.view.untilIsThere(t, "apple")
				require.Less(t, time.Since(began), 15*time.Second)
				require.ErrorIs(t, r.Health().LastError, errStalled)
			})
		})
	}
}

func TestARefusalNamesWhatIsMissing(t *testing.T) {
	forbidden := fakeapi.Forbidden()
	unauthorized := &metav1.Status{Status: metav1.StatusFailure, Code: http.StatusUnauthorized,
		Reason: metav1.StatusReasonUnauthorized}
	unknown := &metav1.Status{Status: metav1.StatusFailure, Code: http.StatusNotFound,
		Reason: metav1.StatusReasonNotFound}
	for want, status := range inorder.Map(map[Refusal]*metav1.Status{Forbidden: forbidden,
		BadCredentials: unauthorized, UnknownKind: unknown}) {
		t.Run(string(want), func(t *testing.T) {
			inMemory(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, w world) {
				w.create(t, "apple", nil)
				remove := s.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "configmaps"}, Status: status})
				r := runReflector(t, w, ReflectorOptions{})
				time.Sleep(time.Second)
				health := r.Health()
				var refused *RefusedError
				require.ErrorAs(t, health.LastError, &refused)
				require.Equal(t, want, refused.Reason)
				require.Equal(t, "watch", refused.Verb)
				require.Equal(t, configMapResource, refused.Resource)
				require.Equal(t, metav1.NamespaceDefault, refused.Namespace)
				require.True(t, apierrors.ReasonForError(refused) == status.Reason)
				require.ErrorContains(t, health.Ready(time.Now(), time.Minute), "not synced yet")
				require.ErrorContains(t, health.Ready(time.Now(), time.Minute), "configmaps")
				remove() // the right is granted
				r.view.untilIsThere(t, "apple")
			})
		})
	}
	require.Equal(t, `{apiGroups: [""], resources: ["configmaps"], verbs: ["list", "watch"]}`,
		(&RefusedError{Resource: configMapResource}).Rule())
}

// A ListerWatcher that somebody has written may not tell what it reads.
func TestARefusalWithoutAResourceNamesTheKind(t *testing.T) {
	for want, status := range inorder.Map(map[string]*metav1.Status{
		"this client may not watch ConfigMap: ": fakeapi.Forbidden(),
		"cannot watch ConfigMap, the API server does not serve it: ": {Code: http.StatusNotFound,
			Reason: metav1.StatusReasonNotFound},
		"cannot watch ConfigMap, the API server does not accept": {Code: http.StatusUnauthorized,
			Reason: metav1.StatusReasonUnauthorized},
	}) {
		err := readerIdentity{kind: "ConfigMap"}.refusedOr(&apierrors.StatusError{ErrStatus: *status},
			"watch")
		require.Regexp(t, "^"+want, err.Error())
	}
}

// sameToken is a server whose second page leads to itself.
type sameToken struct {
	ListerWatcher[*corev1.ConfigMap]
	requests int
}

func (s *sameToken) List(context.Context, metav1.ListOptions) (*List[*corev1.ConfigMap], error) {
	s.requests++
	return &List[*corev1.ConfigMap]{ResourceVersion: "5", Continue: "again"}, nil
}

func TestATokenThatLeadsToItselfEndsTheList(t *testing.T) {
	var last error
	for _, last = range Pages(t.Context(), ListerWatcher[*corev1.ConfigMap](&sameToken{}),
		metav1.ListOptions{}) {
	}
	require.ErrorContains(t, last, "is this one again")
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		server := &sameToken{}
		r := NewReflector(ListerWatcher[*corev1.ConfigMap](server), Sink[*corev1.ConfigMap](newView()),
			ReflectorOptions{NoStream: true})
		_ = r.Run(ctx)
		require.ErrorContains(t, r.Health().LastError, "is this one again")
		require.Less(t, server.requests, 15)
	})
}

// What is deleted must not live on because its creation was told twice.
func TestAnObjectThatCameTwiceIsDeletedOnce(t *testing.T) {
	object := func(name string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	var a partialView[*corev1.ConfigMap]
	for _, name := range []string{"a", "b", "a", "c"} {
		a.apply(Event[*corev1.ConfigMap]{Type: watch.Added, Object: object(name)})
	}
	a.apply(Event[*corev1.ConfigMap]{Type: watch.Deleted, Object: object("a")})
	require.ElementsMatch(t, []*corev1.ConfigMap{object("b"), object("c")}, a.items)
}
