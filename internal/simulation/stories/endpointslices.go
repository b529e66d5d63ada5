package stories

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/simulation"
)

// MostPerSlice is how many endpoints a slice of the story of EndpointSlices may have, so that a Service
// has several. The controller must be set up with it.
const MostPerSlice = 3

// EndpointSlices is the story of Endpoints for the controller of EndpointSlices, with a user who also
// changes slices. No garbage collector runs, so the slices of a deleted Service stay, and the judge
// ignores them.
func EndpointSlices(controller simulation.Process) simulation.Story {
	return simulation.Story{
		Name: "endpointslices", Seeds: 40, Short: 6, Race: 6,
		Controllers: controller, Steps: 15, Mishaps: sliceMishaps, Crashes: sliceCrashes,
		Cast: castSlices,
		Least: map[string]int{
			"crash":                           153,
			"fault: answer to a create lost":  112,
			"fault: answer to an update lost": 56,
			"fault: watch of slices late":     358,
			"user: delete a slice":            183,
			"user: empty a slice":             156,
			"user: take a slice":              187,
			"mishap: compaction":              77,
			"mishap: crash":                   163,
			"mishap: stale views":             12,
			"mishap: missed states":           7,
			"mishap: time travel":             15,
			"mishap: two at once":             16,
			"mishap: clocks":                  12,
			"mishap: wrong answer":            8,
			"mishap: wrong answers":           23,
		},
	}
}

func castSlices(w *simulation.World) simulation.Cast {
	u := &crowd{World: w, touched: map[string]string{}}
	return simulation.Cast{
		Begin: func() {
			u.Create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}})
			u.begin()
		},
		Act: func() {
			u.live()
			u.touchSlices()
		},
		State: u.slicesState, Judge: u.slicesAreDone,
	}
}

// sliceCrashes are the writes after which the process may die.
var sliceCrashes = []fakeapi.Match{
	{Verb: "create", Resource: "endpointslices"}, {Verb: "update|patch", Resource: "endpointslices"},
	{Verb: "delete", Resource: "endpointslices"},
}

func sliceMishaps(random *rand.Rand, often float64) []simulation.Mishap {
	delay := milliseconds(random, 4000)
	return []simulation.Mishap{
		lost("answer to a create lost", on("create", "endpointslices"), often),
		lost("answer to an update lost", on("update|patch", "endpointslices"), often),
		lost("answer to a delete lost", on("delete", "endpointslices"), often),
		fails("conflict of an update", on("update|patch", ""), often, fakeapi.Conflict()),
		fails("write fails", on("create", ""), often, fakeapi.Forbidden()),
		late("watch of Pods late", "pods", delay),
		late("watch of Services late", "services", delay),
		late("watch of slices late", "endpointslices", delay),
		late("watch of slices late", "endpointslices", 10*delay),
	}
}

// slicesOf returns the slices that the controller manages for a Service.
func (u *crowd) slicesOf(service *corev1.Service) (all []*discoveryv1.EndpointSlice) {
	var list discoveryv1.EndpointSliceList
	require.NoError(u.T, u.Live.List(context.Background(), &list))
	for i := range list.Items {
		if owner := metav1.GetControllerOf(&list.Items[i]); owner != nil &&
			owner.UID == service.UID && isControllersSlice(&list.Items[i], service) {
			all = append(all, &list.Items[i])
		}
	}
	return all
}

// isControllersSlice reports whether a slice is for a Service, and the controller manages it. A user may
// take it over.
func isControllersSlice(slice *discoveryv1.EndpointSlice, service *corev1.Service) bool {
	return slice.Labels[discoveryv1.LabelServiceName] == service.Name &&
		slice.Labels[discoveryv1.LabelManagedBy] == "endpointslice-controller.k8s.io"
}

// touchSlices lets a user change slices, as only the controller should.
func (u *crowd) touchSlices() {
	ctx := context.Background()
	what, which := u.Users.IntN(4), u.Users.IntN(1000)
	var list discoveryv1.EndpointSliceList
	require.NoError(u.T, u.Live.List(ctx, &list))
	if len(list.Items) == 0 {
		return
	}
	slice := &list.Items[which%len(list.Items)]
	switch what {
	case 0:
		u.OthersDid(u.Live.Delete(ctx, slice), "user: delete a slice", slice.Name)
	case 1:
		slice.Endpoints = nil
		u.OthersDid(u.Live.Update(ctx, slice), "user: empty a slice", slice.Name)
	case 2:
		slice.Labels[discoveryv1.LabelManagedBy] = "me"
		u.OthersDid(u.Live.Update(ctx, slice), "user: take a slice", slice.Name)
	}
}

// slicesState returns the content of the slices of all Services.
func (u *crowd) slicesState() string {
	var state strings.Builder
	for _, service := range u.services() {
		fmt.Fprintln(&state, service.Name, plainly(targetsInSlices(u.slicesOf(service))))
	}
	return state.String()
}
