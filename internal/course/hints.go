package course

import (
	"encoding/json"
	"fmt"
	"io"
)

const hintsFile = stateDir + "/hints.json"

// hintsSeen says how many hints of each exercise were shown. A file that is
// missing or damaged means none: at worst a hint is shown twice.
func (r *Repo) hintsSeen() map[string]int {
	seen := map[string]int{}
	if text, err := r.read(hintsFile); err == nil {
		if json.Unmarshal(text, &seen) != nil {
			return map[string]int{}
		}
	}
	return seen
}

func (r *Repo) hintOffer(e Exercise) string {
	switch seen := r.hintsSeen()[e.Name]; {
	case len(e.Hints) == 0:
		return ""
	case seen == 0 && len(e.Hints) == 1:
		return fmt.Sprintf("Stuck? `make hint-%d` shows a hint.", e.Number)
	case seen == 0:
		return fmt.Sprintf("Stuck? `make hint-%d` shows the first of %d hints.", e.Number, len(e.Hints))
	case seen < len(e.Hints):
		return fmt.Sprintf("Stuck? `make hint-%d` shows hint %d of %d.", e.Number, seen+1, len(e.Hints))
	default:
		return fmt.Sprintf("You have seen all hints (`make hint-%d` shows them again); the reference is `course diff --anyway %d`.", e.Number, e.Number)
	}
}

// NextHint shows the hints seen before and one more.
func (r *Repo) NextHint(e Exercise, w io.Writer) error {
	if len(e.Hints) == 0 {
		return fmt.Errorf("exercise %d has no hints", e.Number)
	}
	all := r.hintsSeen()
	seen := min(all[e.Name]+1, len(e.Hints))
	for _, h := range e.Hints[:seen] {
		fmt.Fprintf(w, "%s of %d\n\n%s\n\n", h.Title, len(e.Hints), h.Text)
	}
	all[e.Name] = seen
	text, err := json.Marshal(all)
	if err != nil {
		return fmt.Errorf("remembering the hint: %w", err)
	}
	return r.writeState(hintsFile, text)
}
