package mini

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// discovered is one group's part of the answer of discovery. Each resource is a name with its
// verbs: "pods list,delete".
func discovered(groupVersion string, resources ...string) *metav1.APIResourceList {
	list := &metav1.APIResourceList{GroupVersion: groupVersion}
	for _, r := range resources {
		name, verbs, _ := strings.Cut(r, " ")
		list.APIResources = append(list.APIResources, metav1.APIResource{
			Name: name, Kind: "Kind of " + name, Verbs: strings.Split(verbs, ","),
		})
	}
	return list
}

func resourceNames(step []resource) (names []string) {
	for _, r := range step {
		names = append(names, r.name)
	}
	return names
}

// While a Pod ends, it still reads its Secret, and its NetworkPolicy keeps others away.
//
// Function: podsFirst
func TestPodsAreTheFirstStepAndEverythingElseIsTheSecond(t *testing.T) {
	steps := podsFirst([]*metav1.APIResourceList{
		discovered("v1", "secrets list,delete", "pods list,delete", "services list,delete"),
		discovered("networking.k8s.io/v1", "networkpolicies list,delete"),
	}, "red")
	require.Equal(t, []string{"pods"}, resourceNames(steps[0]), "the first step")
	require.Equal(t, []string{"secrets", "services", "networkpolicies.networking.k8s.io"},
		resourceNames(steps[1]), "the second step, in the order of discovery")
}

// If its path is wrong, the API server answers 404, and the namespace stays forever.
//
// Function: podsFirst
func TestAResourceHasThePathBelowWhichItsObjectsAre(t *testing.T) {
	steps := podsFirst([]*metav1.APIResourceList{
		discovered("v1", "pods list,delete"),
		discovered("apps/v1", "deployments list,delete,deletecollection"),
	}, "red")
	require.Equal(t, []resource{{
		name: "pods", path: []string{"/api", "v1", "namespaces", "red", "pods"},
		kind: "Kind of pods", verbs: metav1.Verbs{"list", "delete"},
	}}, steps[0], "Pods, whose group has no name, are below /api")
	require.Equal(t, []resource{{
		name: "deployments.apps",
		path: []string{"/apis", "apps/v1", "namespaces", "red", "deployments"},
		kind: "Kind of deployments", verbs: metav1.Verbs{"list", "delete", "deletecollection"},
	}}, steps[1], "groups with a name are below /apis")
}

// Another group may also have a resource with the name "pods". Its objects aren't Pods.
//
// Function: podsFirst
func TestThePodsOfAnotherGroupAreNotPods(t *testing.T) {
	steps := podsFirst([]*metav1.APIResourceList{
		discovered("sea.example.com/v1", "pods list,delete"), // of whales
	}, "red")
	require.Empty(t, resourceNames(steps[0]), "no container runs in a pod of whales")
	require.Equal(t, []string{"pods.sea.example.com"}, resourceNames(steps[1]))
}

// The controller would ask for these in each pass, and each refusal would keep the
// namespace.
//
// Function: podsFirst
func TestWhatCannotBeListedOrDeletedIsLeftOut(t *testing.T) {
	for _, c := range []struct {
		verbs string
		want  []string
	}{
		{"get,list,delete", []string{"things"}},
		{"create", nil}, // access reviews: nothing is stored
		{"get,list", nil},
		{"delete", nil},
		{"list,deletecollection", nil},
		{"list,delete,deletecollection", []string{"things"}},
	} {
		steps := podsFirst([]*metav1.APIResourceList{discovered("v1", "things "+c.verbs)}, "red")
		require.Equal(t, c.want, resourceNames(steps[1]), "a resource with the verbs %s", c.verbs)
	}
}

// What the second step deletes has to outlive the Pods, even those that we couldn't see.
//
// Function: remains.endsAfter
func TestAPassEndsWithTheStepAfterWhichPodsAreLeftOrMayBe(t *testing.T) {
	known, down := []resource{{name: "pods"}}, errors.New("discovery failed")
	for _, c := range []struct {
		name string
		left remains
		step []resource
		want bool
	}{
		{"nothing is left", remains{}, known, false},
		{"a Pod is ending", remains{objects: map[string]int{"pods": 1}}, known, true},
		{"the Pods can't be listed", remains{failed: []error{down}}, known, true},
		{"discovery has failed, and not named the Pods", remains{unknown: down}, nil, true},
		{"discovery has failed, but named the Pods", remains{unknown: down}, known, false},
		{"discovery has not failed, and there are no Pods", remains{}, nil, false},
	} {
		require.Equal(t, c.want, c.left.endsAfter(c.step), "%s: does the pass end?", c.name)
	}
}

// testMoment is a moment of the tests of missing.
func testMoment(d time.Duration) time.Time {
	return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(d)
}

// An API server that has just started may not serve all of its resources yet. Without an
// error, the namespace would be deleted, and these objects would stay without one.
//
// Function: missing
func TestAResourceThatDiscoveryHadAndLacksNowIsAnError(t *testing.T) {
	since := map[string]time.Time{}
	both := []resource{{name: "pods"}, {name: "fungi.example.com"}}
	require.NoError(t, missing(since, both, testMoment(0)), "the first answer: nothing can be missing")
	require.NoError(t, missing(since, both, testMoment(time.Second)), "nothing is missing")
	err := missing(since, both[:1], testMoment(2*time.Second))
	require.ErrorContains(t, err, "fungi.example.com", "discovery lacks the fungi now")
	err = missing(since, nil, testMoment(3*time.Second))
	require.ErrorContains(t, err, "fungi.example.com", "it still lacks them")
	require.ErrorContains(t, err, "pods", "it also lacks the Pods, and each has its own error")
}

// A user may have deleted the CustomResourceDefinition. If the wait never ended, no
// namespace could ever be deleted again.
// Function: missing
func TestAResourceThatStaysAwayForHalfAMinuteIsForgotten(t *testing.T) {
	since := map[string]time.Time{}
	fungi := []resource{{name: "fungi.example.com"}}
	require.NoError(t, missing(since, fungi, testMoment(0)))
	require.Error(t, missing(since, nil, testMoment(time.Minute)), "the half minute begins now")
	require.Error(t, missing(since, nil, testMoment(time.Minute+10*time.Second)), "after 10 s")
	almost := testMoment(time.Minute + forgetAfter - time.Nanosecond)
	require.Error(t, missing(since, nil, almost), "a moment before forgetAfter is over")
	require.NoError(t, missing(since, nil, testMoment(time.Minute+forgetAfter)),
		"discovery has lacked the fungi for forgetAfter: they're gone")
	require.NoError(t, missing(since, nil, testMoment(time.Hour)), "they're forgotten")
}

// A CustomResourceDefinition was deleted half a minute ago, and the Pods have been missing for a moment. That the first is forgotten
// says nothing about the Pods: without an error, the namespace would be deleted, and they'd stay without one.
//
// Function: missing
func TestAResourceThatIsForgottenHidesNoOther(t *testing.T) {
	since := map[string]time.Time{}
	fungi, pods := resource{name: "fungi.example.com"}, resource{name: "pods"}
	require.NoError(t, missing(since, []resource{fungi, pods}, testMoment(0)))
	require.Error(t, missing(since, []resource{pods}, testMoment(time.Second)))
	err := missing(since, nil, testMoment(time.Second+forgetAfter))
	require.ErrorContains(t, err, "pods", "they're missing since now")
	require.NotContains(t, err.Error(), "fungi", "they're forgotten")
}

// It comes and goes with a server that crashes and starts again. Its objects are there.
//
// Function: missing
func TestAResourceThatComesBackHasItsFullTimeAgain(t *testing.T) {
	since := map[string]time.Time{}
	fungi := []resource{{name: "fungi.example.com"}}
	require.NoError(t, missing(since, fungi, testMoment(0)))
	require.Error(t, missing(since, nil, testMoment(time.Second)), "away for the first time")
	require.NoError(t, missing(since, fungi, testMoment(20*time.Second)), "it's back")
	require.Error(t, missing(since, nil, testMoment(40*time.Second)),
		"away for the second time: the time of the first absence doesn't count")
	require.Error(t, missing(since, nil, testMoment(60*time.Second)), "away for 20 s")
	require.NoError(t, missing(since, nil, testMoment(40*time.Second+forgetAfter)))
}
