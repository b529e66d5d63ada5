package informer

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// upstreamDiary is handlers of functions that write down what they are told.
type upstreamDiary struct{ lines []string }

func (d *upstreamDiary) note(format string, args ...any) {
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

func (d *upstreamDiary) funcs() ResourceEventHandlerFuncs {
	return ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { d.note("add %v", obj) },
		UpdateFunc: func(old, obj any) { d.note("update %v to %v", old, obj) },
		DeleteFunc: func(obj any) { d.note("delete %v", obj) },
	}
}

func (d *upstreamDiary) detailed() ResourceEventHandlerDetailedFuncs {
	return ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(obj any, initial bool) { d.note("add %v, %v", obj, initial) },
		UpdateFunc: d.funcs().UpdateFunc,
		DeleteFunc: d.funcs().DeleteFunc,
	}
}

// callEach makes one call of each sort.
func callEach(h ResourceEventHandler) {
	h.OnAdd("a", true)
	h.OnAdd("b", false)
	h.OnUpdate("b", "c")
	h.OnDelete(DeletedFinalStateUnknown{Key: "c", Obj: "c"})
}

// A program of client-go's must be told the same under the same names.
func TestHandlersOfFunctionsAreCalledAsInTheOriginal(t *testing.T) {
	for _, c := range []struct {
		name    string
		handler func(*upstreamDiary) ResourceEventHandler
		want    []string
	}{
		{"ResourceEventHandlerFuncs", func(d *upstreamDiary) ResourceEventHandler { return d.funcs() },
			[]string{"add a", "add b", "update b to c", "delete {c c}"}},
		{"ResourceEventHandlerDetailedFuncs",
			func(d *upstreamDiary) ResourceEventHandler { return d.detailed() },
			[]string{"add a, true", "add b, false", "update b to c", "delete {c c}"}},
		{"no ResourceEventHandlerFuncs",
			func(*upstreamDiary) ResourceEventHandler { return ResourceEventHandlerFuncs{} }, nil},
		{"no ResourceEventHandlerDetailedFuncs",
			func(*upstreamDiary) ResourceEventHandler { return ResourceEventHandlerDetailedFuncs{} }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var told upstreamDiary
			callEach(c.handler(&told))
			require.Equal(t, c.want, told.lines)
		})
	}
}

// To a handler behind a filter, an object begins when it is accepted, and ends when it no longer
// is. A handler that missed that end would keep the object forever.
func TestAFilteredHandlerSeesOnlyWhatTheFilterAccepts(t *testing.T) {
	for _, c := range []struct {
		name string
		tell func(ResourceEventHandler)
		want []string
	}{
		{"an accepted object is added", func(h ResourceEventHandler) { h.OnAdd("yes", false) },
			[]string{"add yes, false"}},
		{"one of the initial list", func(h ResourceEventHandler) { h.OnAdd("yes", true) },
			[]string{"add yes, true"}},
		{"another is added", func(h ResourceEventHandler) { h.OnAdd("no", true) }, nil},
		{"it stays accepted", func(h ResourceEventHandler) { h.OnUpdate("yes", "yes, too") },
			[]string{"update yes to yes, too"}},
		{"it begins to be accepted", func(h ResourceEventHandler) { h.OnUpdate("no", "yes") },
			[]string{"add yes, false"}},
		{"it is no longer accepted", func(h ResourceEventHandler) { h.OnUpdate("yes", "no") },
			[]string{"delete yes"}},
		{"it is never accepted", func(h ResourceEventHandler) { h.OnUpdate("no", "no") }, nil},
		{"an accepted object is deleted", func(h ResourceEventHandler) { h.OnDelete("yes") },
			[]string{"delete yes"}},
		{"another is deleted", func(h ResourceEventHandler) { h.OnDelete("no") }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var told upstreamDiary
			c.tell(FilteringResourceEventHandler{
				FilterFunc: func(obj any) bool { return strings.HasPrefix(obj.(string), "yes") },
				Handler:    told.detailed(),
			})
			require.Equal(t, c.want, told.lines)
		})
	}
}
