package predicate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/internal/anyvalue"
	"github.com/loopwright/loopwright/manager/internal/logtest"
)

// state is what the predicates of this file see of an object.
type state struct {
	generation  int64
	version     string
	labels      map[string]string
	annotations map[string]string
}

func (s state) object() client.Object {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: "web", Generation: s.generation, ResourceVersion: s.version, Labels: s.labels, Annotations: s.annotations,
	}}
}

type words = map[string]string

// Predicates that drop everything are fast, and a controller behind them does nothing.
func TestSomeUpdatesPass(t *testing.T) {
	var pass []string
	for i, asked := range comparing {
		for _, u := range updates[i] {
			if asked.Update(event.UpdateEvent{ObjectOld: u.was.object(), ObjectNew: u.is.object()}) {
				pass = append(pass, u.name)
			}
		}
	}
	require.NotEmpty(t, pass, "four predicates were asked about many updates, and none let any of them pass")
}

var comparing = []Predicate{GenerationChangedPredicate{}, ResourceVersionChangedPredicate{}, LabelChangedPredicate{}, AnnotationChangedPredicate{}}

// update is one of those that a predicate is asked about.
type update struct {
	name    string
	was, is state
	passes  bool
}

// updates are those for each of the predicates, in the order of comparing.
var updates = [][]update{
	{ // GenerationChangedPredicate
		{"the generation is the next", state{generation: 7}, state{generation: 8}, true},
		{"the generation is the same", state{generation: 7}, state{generation: 7}, false},
		{"the generation jumps, because updates were missed", state{generation: 7}, state{generation: 70}, true},
		{"the generation is smaller, because a backup was restored", state{generation: 8}, state{generation: 7}, true},
		{"the generation begins", state{}, state{generation: 1}, true},
		{"the generation ends", state{generation: 1}, state{}, true},
		{"the generation of a ConfigMap, which has none", state{version: "1"}, state{version: "2"}, false},
		{"the generation, and nothing was written", state{generation: 7, version: "1"}, state{generation: 7, version: "1"}, false},
		{"the generation is the same, and the labels are not", state{labels: words{"app": "web"}}, state{}, false},
		{"the generation is the same, and the annotations are not", state{annotations: words{"app": "web"}}, state{}, false},
	},
	{ // ResourceVersionChangedPredicate
		{"the resourceVersion is greater", state{version: "8"}, state{version: "9"}, true},
		{"the resourceVersion is the same: a resync", state{version: "9"}, state{version: "9"}, false},
		{"the resourceVersion has one digit more", state{version: "9"}, state{version: "10"}, true},
		{"the resourceVersion is smaller, because a backup was restored", state{version: "10"}, state{version: "9"}, true},
		{"the resourceVersion is not a number", state{version: "a"}, state{version: "b"}, true},
		{"the resourceVersion is there for the first time", state{}, state{version: "1"}, true},
		{"the resourceVersion is another one, and the generation is the same", state{generation: 7, version: "1"}, state{generation: 7, version: "2"}, true},
		{"the resourceVersion is the same, and the generation is not", state{generation: 7, version: "1"}, state{generation: 8, version: "1"}, false},
	},
	{ // LabelChangedPredicate
		{"a label is added", state{labels: words{"app": "web"}}, state{labels: words{"app": "web", "tier": "front"}}, true},
		{"a label is removed", state{labels: words{"app": "web", "tier": "front"}}, state{labels: words{"app": "web"}}, true},
		{"a label has another value", state{labels: words{"app": "web"}}, state{labels: words{"app": "api"}}, true},
		{"a label has another name", state{labels: words{"app": "web"}}, state{labels: words{"name": "web"}}, true},
		{"a label becomes empty", state{labels: words{"app": "web"}}, state{labels: words{"app": ""}}, true},
		{"a label without a value is replaced by another", state{labels: words{"app": ""}}, state{labels: words{"tier": ""}}, true},
		{"two labels change their values", state{labels: words{"a": "1", "b": "2"}}, state{labels: words{"a": "2", "b": "1"}}, true},
		{"the first label", state{}, state{labels: words{"app": "web"}}, true},
		{"the last label is gone", state{labels: words{"app": "web"}}, state{}, true},
		{"the labels are the same", state{labels: words{"app": "web", "tier": "front"}}, state{labels: words{"app": "web", "tier": "front"}}, false},
		{"no labels, in two ways", state{labels: words{}}, state{}, false},
		{"the labels are the same, and the annotations are not", state{annotations: words{"a": "1"}}, state{annotations: words{"a": "2"}}, false},
		{"the labels are the same, and the generation is not", state{generation: 1}, state{generation: 2}, false},
		{"the labels are the same, and the resourceVersion is not", state{version: "1"}, state{version: "2"}, false},
	},
	{ // AnnotationChangedPredicate
		{"an annotation is added", state{annotations: words{"app": "web"}}, state{annotations: words{"app": "web", "tier": "front"}}, true},
		{"an annotation is removed", state{annotations: words{"app": "web", "tier": "front"}}, state{annotations: words{"app": "web"}}, true},
		{"an annotation has another value", state{annotations: words{"app": "web"}}, state{annotations: words{"app": "api"}}, true},
		{"two annotations look like one when they are printed", state{annotations: words{"a": "1", "b": "2"}}, state{annotations: words{"a": "1 b:2"}}, true},
		{"the last annotation is gone", state{annotations: words{"app": "web"}}, state{}, true},
		{"the annotations are the same", state{annotations: words{"app": "web"}}, state{annotations: words{"app": "web"}}, false},
		{"no annotations, in two ways", state{}, state{annotations: words{}}, false},
		{"the annotations are the same, and the labels are not", state{labels: words{"a": "1"}}, state{labels: words{"a": "2"}}, false},
		{"the annotations are the same, and the generation is not", state{generation: 1}, state{generation: 2}, false},
	},
}

// An update that is dropped wrongly is lost: the object stays as it is, and nobody looks. One that
// passes wrongly costs a look.
func TestAPredicateLosesNoUpdate(t *testing.T) {
	for i, asked := range comparing {
		t.Run(anyvalue.Name(asked, "predicate"), func(t *testing.T) {
			var lost, spare []string
			for _, u := range updates[i] {
				passed := asked.Update(event.UpdateEvent{ObjectOld: u.was.object(), ObjectNew: u.is.object()})
				switch {
				case u.passes && !passed:
					lost = append(lost, u.name)
				case !u.passes && passed:
					spare = append(spare, u.name)
				}
			}
			got := append(some(lost, "lost"), some(spare, "let through for nothing")...)
			require.Empty(t, strings.Join(got, "; "), "%T was asked about %d updates", asked, len(updates[i]))
		})
	}
}

// some says how many updates met with a fate, and names one.
func some(names []string, fate string) []string {
	if len(names) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d %s, for example: %s", len(names), fate, names[0])}
}

// A faulty source must not end the process. Nobody can say what changed if one object is missing;
// but somebody should find out which source it was, and begins with the object.
func TestAPredicateDropsUpdatesWithoutBothObjects(t *testing.T) {
	there := state{generation: 7, version: "1", labels: words{"app": "web"}, annotations: words{"app": "web"}}.object()
	for _, asked := range comparing {
		for _, c := range []struct {
			name    string
			was, is client.Object
			logged  string
		}{
			{"no object", nil, nil, ""},
			{"no old object", nil, there, "web"},
			{"no new object", there, nil, "web"},
			{"a nil Pod for the old object", (*corev1.Pod)(nil), there, "web"},
			{"a nil Pod for the new object", there, (*corev1.Pod)(nil), "web"},
		} {
			t.Run(anyvalue.Name(asked, "predicate")+": "+c.name, func(t *testing.T) {
				log := logtest.Read(t)
				require.False(t, asked.Update(event.UpdateEvent{ObjectOld: c.was, ObjectNew: c.is}), "%T let an update pass that has %s", asked, c.name)
				require.Contains(t, log.String(), "level=ERROR", "%T dropped an update that has %s, and did not log an error", asked, c.name)
				require.Contains(t, log.String(), c.logged, "%T dropped an update that has %s, and did not log the name of the other one", asked, c.name)
			})
		}
	}
}

// The four compare the objects of updates. A creation or deletion that they dropped would be lost.
func TestAPredicateThatComparesLetsOtherEventsPass(t *testing.T) {
	object := state{}.object()
	for _, asked := range comparing {
		require.True(t, asked.Create(event.CreateEvent{Object: object}), "%T dropped a creation", asked)
		require.True(t, asked.Delete(event.DeleteEvent{Object: object}), "%T dropped a deletion", asked)
		require.True(t, asked.Generic(event.GenericEvent{Object: object}), "%T dropped a generic event", asked)
	}
}
