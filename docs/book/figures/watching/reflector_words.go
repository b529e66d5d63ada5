//go:build figures

package watching

import (
	"strconv"
	"strings"
	"time"

	"github.com/loopwright/loopwright/informer"
)

// delivered says what the sink gets.
var delivered = map[string]string{
	"collect":  "keep it until the view is whole",
	"replace":  "hand the whole view to the sink",
	"apply":    "hand the event to the sink",
	"progress": "tell the sink the version",
	"discard":  "throw away what was collected",
}

// inWords is the last decision: what is delivered, and what is done then.
func (r *reflector) inWords() string {
	var words []string
	if text := delivered[r.last.Deliver]; text != "" {
		words = append(words, text)
	}
	words = append(words, r.command())
	return strings.Join(words, "; ") + "."
}

func (r *reflector) command() string {
	d := r.last
	least := "the newest there is"
	if d.Version != "" {
		least = "no older than " + d.Version
	}
	switch d.Do {
	case "stream":
		return "ask for a stream, " + least
	case "list":
		if d.Whole {
			return "list in one piece, " + least
		}
		return "list in pages, " + least
	case "page":
		return "ask for the next page"
	case "watch":
		return "watch from " + d.Version
	case "read":
		return "read the next event"
	case "pause":
		return "pause for " + pauseInWords(d.Pause) + then(r.machine.Memory())
	}
	return d.Do
}

func pauseInWords(pause time.Duration) string {
	return strconv.FormatFloat(pause.Seconds(), 'f', -1, 64) + " s"
}

// then is what follows a pause.
func then(m informer.Memory) string {
	switch {
	case m.Next == "watch":
		return ", then watch from " + m.Cursor
	case m.Next == "page":
		return ", then ask for the page again"
	case m.Polls:
		return ", then list again"
	default:
		return ", then ask for a new view"
	}
}

// why says what a decision is based on: what was lost, and what was counted. It compares the machine's memory before
// and after, so it cannot say more than is there.
func (r *reflector) why(what informer.Happening, before, after informer.Memory) string {
	var reasons []string
	if r.last.Reason != "" && (what.Kind != "failed" || what.Fault == "stalled") { // otherwise an error says it
		reasons = append(reasons, capital(r.last.Reason)+".")
	}
	switch {
	case before.Cursor != "" && after.Cursor == "":
		reasons = append(reasons, "The place in the history is lost: the cursor is empty now.")
	case r.last.Do == "pause" && after.Cursor != "":
		reasons = append(reasons, "The cursor is good, so nothing is lost but time.")
	}
	for i, counter := range after.Counters {
		reasons = append(reasons, counted(before.Counters[i], counter, what.Kind)...)
	}
	if !before.Newest && after.Newest {
		reasons = append(reasons, "From now on it asks for the newest there is.")
	}
	if before.Floor != "" && after.Floor == "" && !after.Polls {
		reasons = append(reasons, "The floor is forgotten: the server's history went back.")
	}
	if after.Failures > 1 && r.last.Do == "pause" && after.State == "waiting" && what.Asked == 0 {
		reasons = append(reasons, "The pause gets longer with each failure.")
	}
	return strings.Join(reasons, " ")
}

// counted says what became of a counter.
func counted(before, after informer.Counter, kind string) []string {
	of := strconv.Itoa(after.N) + " of " + strconv.Itoa(informer.Tries)
	switch {
	case after.N == before.N:
		return nil
	case after.N == before.N+1:
		return []string{after.Name + " counts " + of + "."}
	case after.N > before.N:
		return []string{after.Name + " is " + of + " at once."}
	case kind == "failed" && before.N == informer.Tries-1:
		return []string{"That was the third time in a row: " + after.Name + " begins at 0 again."}
	default:
		return []string{after.Name + " begins at 0 again."}
	}
}

func capital(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// Words is the state.
func (r *reflector) Words() string {
	m := r.machine.Memory()
	words := "The reflector is " + m.State + "."
	if r.from != "" && r.from != m.State {
		words += " It was " + r.from + " before."
	}
	words += " Cursor: " + orNone(m.Cursor) + ". Floor: " + orNone(m.Floor) + "."
	for _, counter := range m.Counters {
		if counter.N > 0 {
			words += " " + counter.Name + ": " + strconv.Itoa(counter.N) + " of " + strconv.Itoa(informer.Tries) + "."
		}
	}
	return words
}

func orNone(version string) string {
	if version == "" {
		return "none"
	}
	return version
}
