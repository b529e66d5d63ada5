package garbagecollector

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// surveyed is a survey that is asked once a second.
type surveyed struct {
	survey
	now time.Time
}

func newSurveyed() *surveyed {
	return &surveyed{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
}

// hears brings an answer in which these groups have one kind each, and metrics has one that can't be
// watched. The group failing has no answer.
func (s *surveyed) hears(failing string, err error, groups ...string) {
	s.now = s.now.Add(time.Second)
	all := metav1.Verbs{"delete", "get", "list", "watch"}
	var a answer
	for _, group := range groups {
		resource := metav1.APIResource{Name: "things", Kind: "Thing", Verbs: all}
		if group == "metrics" {
			resource.Verbs = metav1.Verbs{"get", "list"}
		}
		a.lists = append(a.lists, &metav1.APIResourceList{
			GroupVersion: schema.GroupVersion{Group: group, Version: "v1"}.String(),
			APIResources: []metav1.APIResource{resource},
		})
	}
	if err != nil {
		a.err = &discovery.ErrGroupDiscoveryFailed{Groups: map[schema.GroupVersion]error{
			{Group: failing, Version: "v1"}: err,
		}}
	}
	s.take(s.now, a, []schema.GroupVersionKind{
		{Version: "v1", Kind: "Thing"}, {Group: "apps", Version: "v1", Kind: "Thing"},
	})
}

// An administrator whose owners all keep their finalizers wants to know which group is in the way,
// since when, and what answered in its place.
func TestTheSurveySaysWhichGroupIsUnknownSinceWhenAndWhatAnswered(t *testing.T) {
	s := newSurveyed()
	s.hears("", nil, "", "apps")
	require.NoError(t, s.doubts())
	page := apierrors.NewGenericServerResponse(404, "get", schema.GroupResource{}, "",
		"404 page not found", 0, true)
	for range 3 {
		s.hears("apps", page, "")
	}
	err := s.doubts()
	require.ErrorContains(t, err, "discovery, apps, unknown since 2026-01-01T00:00:02Z: apps/v1: ")
	require.ErrorContains(t, err, "404 page not found")
	s.hears("", nil, "apps")
	require.ErrorContains(t, s.doubts(), "the core group, unknown since 2026-01-01T00:00:05Z: "+
		"the answer doesn't mention v1 Thing")
	s.hears("", nil, "")
	require.ErrorContains(t, s.doubts(), "apps, unknown since 2026-01-01T00:00:06Z: ")
	s.now = s.now.Add(time.Second)
	s.take(s.now, answer{err: errors.New("no route to host")}, nil)
	require.ErrorContains(t, s.doubts(), "all groups, unknown since 2026-01-01T00:00:07Z: no route")
}

// An API server that's starting, or a load balancer that's half configured, may leave out a group
// in one answer. What's too early costs a user's Pods.
func TestTheSurveyIsCompleteAfterSeveralAnswersInARow(t *testing.T) {
	s := newSurveyed()
	for want := 1; want <= completeAnswers; want++ {
		s.hears("", nil, "", "apps")
		require.Equal(t, want, s.complete)
	}
	s.hears("", nil, "")
	require.Zero(t, s.complete)
	s.hears("", nil, "", "apps")
	require.Equal(t, 1, s.complete)
}

// metrics.k8s.io is down in many clusters. Nothing in it can be a dependent, so it's no reason to
// let owners wait; but nobody knows what a group has that hasn't answered yet.
func TestAGroupWithoutAnythingToWatchMayFailOnceItHasAnswered(t *testing.T) {
	s := newSurveyed()
	s.hears("metrics", errors.New("no endpoints"), "", "apps")
	require.ErrorContains(t, s.doubts(), "metrics/v1: no endpoints")
	s.hears("", nil, "", "apps", "metrics")
	require.NoError(t, s.doubts())
	s.hears("metrics", errors.New("no endpoints"), "", "apps")
	require.NoError(t, s.doubts())
	require.Equal(t, 2, s.complete)
}
