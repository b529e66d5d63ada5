//go:build figures

package watching

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/docs/book/figures/figure"
	"github.com/loopwright/loopwright/docs/book/figures/figuretest"
)

// The cases of the chapter's table: what has not been heard, what comes, and what will be heard.
func TestTheHandlerHearsWhatTheChapterSays(t *testing.T) {
	for _, c := range []struct {
		name    string
		presses []string
		calls   []string
	}{
		{"OnAdd, then Updated", []string{"create web", "change web"}, []string{"OnAdd(web 2)"}},
		{"OnAdd, then Deleted", []string{"create web", "delete web"}, []string{"OnAdd(web 2)", "OnDelete(web 2)"}},
		{"OnUpdate, then Updated", []string{"create web", "wake", "change web", "change web"}, []string{"OnUpdate(web 1, web 3)"}},
		{"OnUpdate, then Deleted", []string{"create web", "wake", "change web", "delete web"}, []string{"OnUpdate(web 1, web 3)", "OnDelete(web 3)"}},
		{"OnDelete, then Added", []string{"create web", "wake", "delete web", "create web"}, []string{"OnDelete(web 2)", "OnAdd(web' 3)"}},
	} {
		s := Listener.Open()
		s.Do(figure.Action{Key: "restart"})
		for _, key := range append(c.presses, "wake") {
			figuretest.Press(t, s, figure.Action{Key: key})
		}
		require.Equal(t, c.calls, s.Figure().(*listener).told, c.name)
	}
}

// Two objects that look alike are one object to a reader.
func TestEachObjectOfANameLooksDifferent(t *testing.T) {
	s := Listener.Open()
	s.Do(figure.Action{Key: "restart"})
	seen := map[string]bool{}
	for range 3 {
		figuretest.Press(t, s, figure.Action{Key: "create web"})
		before, object := len(seen), s.Figure().(*listener).exists["web"]
		seen[object.UID] = true
		require.Len(t, seen, before+1, "%s is another object than those before it", wordOf(object))
		figuretest.Press(t, s, figure.Action{Key: "delete web"})
	}
	figuretest.Press(t, s, figure.Action{Key: "wake"}, figure.Action{Key: "create db"}, figure.Action{Key: "wake"})
	require.Contains(t, s.Said(), "Of 1 delta it is told in 1 call: OnAdd(db 7).")
}

// A handler that believes what it is told must end with what is there, and must never be told of an end without a beginning.
func TestWhatTheHandlerHearsIsALegalHistory(t *testing.T) {
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 9))
		s := Listener.Open()
		s.Do(figure.Action{Key: "restart"})
		s.Do(figure.Action{Key: "coalesce", Value: strconv.FormatBool(seed%2 == 0)})
		believes := map[string]string{}
		hear := func() {
			l := s.Figure().(*listener)
			for _, pending := range l.backlog.Pending() {
				for _, call := range pending.Calls {
					last := call.Objects[len(call.Objects)-1]
					switch call.Method {
					case "OnAdd":
						require.Empty(t, believes[last.Name], "%s is there already", wordOf(last))
						believes[last.Name] = wordOf(last)
					case "OnUpdate":
						require.Equal(t, believes[last.Name], wordOf(call.Objects[0]), "old is what was told before")
						believes[last.Name] = wordOf(last)
					case "OnDelete":
						require.NotEmpty(t, believes[last.Name])
						delete(believes, last.Name)
					}
				}
			}
			if len(l.deltas) > 0 {
				figuretest.Press(t, s, figure.Action{Key: "wake"})
			}
		}
		for range 120 {
			var can []figure.Control
			for _, control := range s.Controls() {
				if control.Off == "" && control.Kind == figure.Button && control.Key != "wake" && control.Key != "back" && control.Key != "restart" {
					can = append(can, control)
				}
			}
			if len(can) == 0 || random.IntN(6) == 0 {
				hear()
				continue
			}
			s.Do(figure.Action{Key: can[random.IntN(len(can))].Key})
			l := s.Figure().(*listener)
			if l.coalesces {
				require.LessOrEqual(t, len(l.backlog.Pending()), len(keys), "one entry for each key")
			} else {
				require.Len(t, l.backlog.Pending(), len(l.deltas))
			}
		}
		hear()
		there := map[string]string{}
		for name, object := range s.Figure().(*listener).exists {
			there[name] = wordOf(object)
		}
		require.Equal(t, there, believes)
	}
}
