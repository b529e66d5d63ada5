// Package mask makes two runs of one scenario comparable.
//
// What a namespace holds goes in, and a [State] comes out: a line for each field of each object. What a server makes up
// in each run is left out (times, UIDs, versions) or replaced (names): the Pods of a ReplicaSet are put into an
// order that depends on nothing but their fields, and are numbered (names.go). Everything else stays, down to which
// fields a controller owns (fields.go).
//
// Neighbours: below it is the package stage, which records. Above it is the comparison.
package mask

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	eventsv1 "k8s.io/api/events/v1"

	"github.com/loopwright/loopwright/benchmarks/controllers/stage"
)

// State is what a namespace holds: a value for each path, such as "Pod/web-rs1-pod1.status.phase".
type State map[string]string

// Of returns the state of a namespace. The log says which names there have ever been. Events are in it only at the end
// of a scenario: they are written when it suits their writers.
func Of(objects []stage.Object, log []stage.Change, withEvents bool) (State, error) {
	names, err := newNames(objects, log)
	if err != nil {
		return nil, err
	}
	state := State{}
	for _, object := range objects {
		if event, ok := object.(*eventsv1.Event); ok {
			if withEvents {
				state.addEvent(names, event)
			}
			continue
		}
		if object.GetName() == "kube-root-ca.crt" { // each cluster has its own
			continue
		}
		tree, err := names.scrubbed(object)
		if err != nil {
			return nil, err
		}
		flatten(state, fmt.Sprintf("%s/%s", names.kinds[object.GetUID()], names.replace(object.GetName())), tree)
	}
	return state, nil
}

var (
	scaledBy = regexp.MustCompile(`from \d+ to \d+`)
	isTime   = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$`)
)

// addEvent notes that there was such an Event. How often does not matter, nor which Pod it was, nor in which steps a
// rollout has scaled its ReplicaSets: these depend on the moment.
func (s State) addEvent(names *names, event *eventsv1.Event) {
	by := event.ReportingController
	if by == "" {
		by = event.DeprecatedSource.Component
	}
	if by == "default-scheduler" || by == "ipallocator-repair-controller" { // the second one looks at times, not at events
		return
	}
	note := strings.TrimPrefix(names.replaceAnyPod(event.Note), "(combined from similar events): ")
	note = scaledBy.ReplaceAllString(note, "from N to M")
	path := fmt.Sprintf("Event/%s %s.%s.%s", event.Regarding.Kind, names.replaceAnyPod(event.Regarding.Name), event.Reason, note)
	s[path] = fmt.Sprintf("%s by %s", event.Type, by)
}

// Difference is a field that is not the same.
type Difference struct {
	Path         string
	Theirs, Ours string // empty if the field is not there
}

func (d Difference) String() string {
	return fmt.Sprintf("%s: theirs %s, ours %s", d.Path, orNone(d.Theirs), orNone(d.Ours))
}

func orNone(value string) string {
	if value == "" {
		return "(none)"
	}
	return value
}

// object is the part of a path that names an object.
func object(path string) string {
	if kind, name, _ := strings.Cut(path, "/"); kind != stage.Event {
		if i := strings.IndexAny(name, ".["); i >= 0 {
			return kind + "/" + name[:i]
		}
	}
	return path
}

func (s State) objects() map[string]bool {
	all := map[string]bool{}
	for path := range s {
		all[object(path)] = true
	}
	return all
}

// Compare lists the fields that differ, by path. An object that only one side has is one difference.
func Compare(theirs, ours State) (differ []Difference) {
	paths, there, here := maps.Clone(theirs), theirs.objects(), ours.objects()
	maps.Copy(paths, ours)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		name := object(path)
		switch {
		case name != path && there[name] && !here[name]:
			differ = append(differ, Difference{Path: name, Theirs: "there"})
			there[name] = false
		case name != path && here[name] && !there[name]:
			differ = append(differ, Difference{Path: name, Ours: "there"})
			here[name] = false
		case name != path && !here[name] && !there[name]: // it is listed already
		case theirs[path] != ours[path]:
			differ = append(differ, Difference{Path: path, Theirs: theirs[path], Ours: ours[path]})
		}
	}
	return differ
}

// Field is the path without the names of objects and the keys of lists: what an explanation is about.
func (d Difference) Field() string {
	kind, rest, _ := strings.Cut(d.Path, "/")
	if kind == "Event" {
		// Event/ReplicaSet web-rs1.SuccessfulCreate.Created pod: ...
		regarding, _, _ := strings.Cut(rest, " ")
		_, reason, _ := strings.Cut(rest, ".")
		reason, _, _ = strings.Cut(reason, ".")
		return fmt.Sprintf("Event %s %s", regarding, reason)
	}
	if i := strings.IndexAny(rest, ".["); i >= 0 {
		rest = rest[i:]
	} else {
		rest = ""
	}
	return kind + key.ReplaceAllString(rest, "[]")
}

var key = regexp.MustCompile(`\[[^\]]*\]|\{[^}]*\}`)

// Says returns "" if the state says so, and otherwise what it says. What is wanted is a path and its value, such as
// "Job/web.status.succeeded=3", or a kind and how many objects of it there are, such as "Pod=3".
func (s State) Says(want string) string {
	path, value, _ := strings.Cut(want, "=")
	has := orNone(s[path])
	if !strings.Contains(path, "/") {
		number := 0
		for name := range s.objects() {
			if strings.HasPrefix(name, path+"/") {
				number++
			}
		}
		has = fmt.Sprint(number)
	}
	if has == value {
		return ""
	}
	return has
}
