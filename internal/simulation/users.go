package simulation

import (
	"slices"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	eventsv1 "k8s.io/api/events/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/client"
)

// Settle waits a minute, in which the controllers finish, and events are written, too.
func (w *World) Settle() {
	time.Sleep(time.Minute)
	synctest.Wait()
}

// Create creates an object as a user.
func (w *World) Create(object client.Object) {
	w.T.Helper()
	require.NoError(w.T, w.Live.Create(w.T.Context(), object))
}

// Read reads an object as it is now.
func (w *World) Read(object client.Object) {
	w.T.Helper()
	require.NoError(w.T, w.Live.Get(w.T.Context(), client.ObjectKeyFromObject(object), object))
}

// Edit reads an object and updates it.
func Edit[T client.Object](w *World, object T, how ...func(T)) {
	w.T.Helper()
	w.Read(object)
	for _, change := range how {
		change(object)
	}
	require.NoError(w.T, w.Live.Update(w.T.Context(), object))
}

// EditStatus is Edit for the status.
func EditStatus[T client.Object](w *World, object T, how func(T)) {
	w.T.Helper()
	w.Read(object)
	how(object)
	require.NoError(w.T, w.Live.Status().Update(w.T.Context(), object))
}

// Wrote counts the writes of the controllers by verb and resource, and clears the log of requests.
func (w *World) Wrote() map[string]int {
	wrote := map[string]int{}
	for _, r := range w.Writes() {
		wrote[nameOf(r.Verb, r.Resource, r.Subresource)]++
	}
	w.Server.ForgetRequests()
	return wrote
}

var writeVerbs = []string{"create", "update", "patch", "delete"}

// Writes returns the writes of the controllers, except those of events.
func (w *World) Writes() (writes []fakeapi.Request) {
	for _, r := range w.Server.Requests(fakeapi.Match{UserAgent: Agent}) {
		if slices.Contains(writeVerbs, r.Verb) &&
			r.Resource != "events" {
			writes = append(writes, r)
		}
	}
	return writes
}

// nameOf names a write, as in "patch deployments/status".
func nameOf(verb, resource, subresource string) string {
	if subresource != "" {
		resource += "/" + subresource
	}
	return verb + " " + resource
}

// Notes returns the notes of a controller's events by reason, the oldest first. All events have to
// be about one kind.
func (w *World) Notes(controller, kind string) map[string][]string {
	w.T.Helper()
	var list eventsv1.EventList
	require.NoError(w.T, w.Live.List(w.T.Context(), &list))
	slices.SortStableFunc(list.Items, func(a, b eventsv1.Event) int {
		return a.EventTime.Compare(b.EventTime.Time)
	})
	notes := map[string][]string{}
	for _, event := range list.Items {
		if event.ReportingController == controller {
			require.Equal(w.T, kind, event.Regarding.Kind)
			notes[event.Reason] = append(notes[event.Reason], event.Note)
		}
	}
	return notes
}
