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
		return fmt.Sprintf("Stuck? `make hint-%s` shows a hint.", e.ID())
	case seen == 0:
		return fmt.Sprintf("Stuck? `make hint-%s` shows the first of %d hints.", e.ID(), len(e.Hints))
	case seen < len(e.Hints):
		return fmt.Sprintf("Stuck? `make hint-%s` shows hint %d of %d.", e.ID(), seen+1, len(e.Hints))
	default:
		return fmt.Sprintf("You've seen all hints (`make hint-%s` shows them again); the reference is `make diff-%s ANYWAY=1`.", e.ID(), e.ID())
	}
}

// NextHint shows the next hint, and all of them once all have been seen.
func (r *Repo) NextHint(e Exercise, w io.Writer) error {
	if len(e.Hints) == 0 {
		return fmt.Errorf("exercise %s has no hints", e.ID())
	}
	seen := r.hintsSeen()[e.Name]
	shown := e.Hints
	if seen < len(e.Hints) {
		shown = e.Hints[seen : seen+1]
	}
	for _, h := range shown {
		fmt.Fprintf(w, "%s of %d\n\n%s\n\n", h.Title, len(e.Hints), h.Text)
	}
	return r.rememberHints(e, min(seen+1, len(e.Hints)))
}

func (r *Repo) rememberHints(e Exercise, seen int) error {
	all := r.hintsSeen()
	all[e.Name] = seen
	text, err := json.Marshal(all)
	if err != nil {
		return fmt.Errorf("remembering the hint: %w", err)
	}
	return r.writeState(hintsFile, text)
}
