package garbagecollector

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// survey is what discovery has said so far about the existing kinds. It's a value without a clock
// or a client; take adds an answer.
//
// An answer that leaves something out proves nothing. A load balancer's 404 for /api is an example:
// to client-go, that's an API server without the core group, and no error. So a group that fails,
// or that existed before, is unknown until an answer has it, or until the kind's own informer has
// proven that the kind was removed.
type survey struct {
	// unknown says what we don't know about a group, by the group's name.
	unknown    map[string]doubt
	isAnswered bool // at least once, even if only for some of the groups
	// complete counts the answers in a row that left nothing unknown.
	complete int
	// barren are the versions of groups that have answered once, and have no resource that we could
	// watch. If they fail, the rest still counts as known: metrics.k8s.io is one of them.
	barren map[schema.GroupVersion]bool
}

// doubt is why a group is unknown.
type doubt struct {
	since time.Time
	why   string // what answered
}

// completeAnswers is how many complete answers in a row it takes until the survey counts as
// complete. They're at least firstPause apart, so an API server that has just started, and doesn't
// serve all of its groups yet, has some seconds to get there.
const completeAnswers = 3

// everything stands for all groups, and the core group has no name.
const (
	everything = "all groups"
	coreGroup  = "the core group"
	namedGroup = "all groups but the core group"
)

// answer is one of discovery's answers.
type answer struct {
	groups []*metav1.APIGroup
	lists  []*metav1.APIResourceList
	err    error
}

// failures returns the versions of groups for which discovery doesn't answer, and false if it
// doesn't answer at all.
func (a answer) failures() (failed map[schema.GroupVersion]error, isAnswer bool) {
	failed, isPartial := discovery.GroupDiscoveryFailedErrorGroups(a.err)
	return failed, a.err == nil || isPartial
}

// take adds an answer. watched are the kinds that have a monitor, and whose removal isn't proven.
func (s *survey) take(now time.Time, a answer, watched []schema.GroupVersionKind) {
	why := map[string][]string{}
	doubts := func(group, reason string) {
		group = cmp.Or(group, coreGroup)
		why[group] = append(why[group], reason)
	}
	failed, isAnswer := a.failures()
	if !isAnswer {
		doubts(everything, explain(a.err))
	}
	for version, err := range failed {
		if !s.barren[version] {
			doubts(version.Group, fmt.Sprintf("%s: %s", version, explain(err)))
		}
	}
	mentioned := kindsOf(a.lists)
	for _, kind := range watched {
		if _, isFailed := failed[kind.GroupVersion()]; isAnswer && !isFailed && !mentioned[kind] {
			doubts(kind.Group, "the answer doesn't mention "+kind.Version+" "+kind.Kind)
		}
	}
	if isAnswer {
		s.isAnswered = true
		s.noteBarren(a.lists, mentioned)
		hasCore, hasNamed := false, false
		for kind := range mentioned {
			hasCore, hasNamed = hasCore || kind.Group == "", hasNamed || kind.Group != ""
		}
		if !hasCore && len(why[coreGroup]) == 0 {
			doubts(coreGroup, "the answer has none of its resources, as after a 404 for /api")
		}
		if !hasNamed {
			doubts(namedGroup, "the answer has none of their resources")
		}
	}
	before := s.unknown
	s.unknown = map[string]doubt{}
	for group, reasons := range why {
		slices.Sort(reasons)
		since := now
		if known, isOld := before[group]; isOld {
			since = known.since
		}
		s.unknown[group] = doubt{since, strings.Join(reasons, ", ")}
	}
	if s.complete++; len(s.unknown) > 0 {
		s.complete = 0
	}
}

// noteBarren notes which versions of groups have nothing to watch.
func (s *survey) noteBarren(
	lists []*metav1.APIResourceList, mentioned map[schema.GroupVersionKind]bool,
) {
	if s.barren == nil {
		s.barren = map[schema.GroupVersion]bool{}
	}
	for _, list := range lists {
		if in, err := schema.ParseGroupVersion(list.GroupVersion); err == nil {
			s.barren[in] = true
		}
	}
	for kind := range mentioned {
		delete(s.barren, kind.GroupVersion())
	}
}

// doubts says which groups are unknown, since when, and what answered. It's nil if there are none.
func (s *survey) doubts() error {
	var all []error
	for _, group := range slices.Sorted(maps.Keys(s.unknown)) {
		of := s.unknown[group]
		all = append(all, fmt.Errorf("discovery, %s, unknown since %s: %s", group,
			of.since.UTC().Format(time.RFC3339), of.why))
	}
	return errors.Join(all...)
}

// explain also says what answered, if it wasn't the API server.
func explain(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil {
		for _, cause := range status.Status().Details.Causes {
			if cause.Type == metav1.CauseTypeUnexpectedServerResponse {
				return fmt.Sprintf("%v (the answer: %q)", err, cause.Message)
			}
		}
	}
	return err.Error()
}

// kindsOf returns all kinds of the lists that can be listed, watched and deleted.
func kindsOf(lists []*metav1.APIResourceList) map[schema.GroupVersionKind]bool {
	all := map[schema.GroupVersionKind]bool{}
	eachWatchable(lists, func(_ schema.GroupResource, kind schema.GroupVersionKind) {
		all[kind] = true
	})
	return all
}

// watchable returns the kinds of all resources that can be listed, watched and deleted. If we
// already watch a resource in a version, it keeps that version as long as it's served; otherwise,
// it gets the one that the server prefers.
func watchable(
	groups []*metav1.APIGroup, lists []*metav1.APIResourceList,
	has func(schema.GroupVersionKind) bool,
) map[schema.GroupResource]schema.GroupVersionKind {
	preferred := map[string]string{}
	for _, group := range groups {
		preferred[group.Name] = group.PreferredVersion.Version
	}
	best := map[schema.GroupResource]schema.GroupVersionKind{}
	eachWatchable(lists, func(id schema.GroupResource, kind schema.GroupVersionKind) {
		old, isThere := best[id]
		if !isThere || has(kind) || kind.Version == preferred[kind.Group] && !has(old) {
			best[id] = kind
		}
	})
	return best
}

// eachWatchable calls visit for each resource that can be listed, watched and deleted. Events
// aren't among them: there are many, they own nothing, and they expire by themselves.
func eachWatchable(
	lists []*metav1.APIResourceList, visit func(schema.GroupResource, schema.GroupVersionKind),
) {
	for _, list := range lists {
		in, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue // the server's mistake; there's nothing to watch
		}
		for _, resource := range list.APIResources {
			id := schema.GroupResource{Group: in.Group, Resource: resource.Name}
			if isWatchable(id, resource.Verbs) {
				visit(id, schema.GroupVersionKind{
					Group:   in.Group,
					Version: cmp.Or(resource.Version, in.Version), Kind: resource.Kind,
				})
			}
		}
	}
}

func isWatchable(resource schema.GroupResource, verbs metav1.Verbs) bool {
	isEvent := resource.Resource == "events" &&
		(resource.Group == "" || resource.Group == "events.k8s.io")
	return !isEvent && !strings.Contains(resource.Resource, "/") &&
		slices.Contains(verbs, "list") && slices.Contains(verbs, "watch") &&
		slices.Contains(verbs, "delete")
}
