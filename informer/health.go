package informer

import (
	"errors"
	"fmt"
	"time"
)

// Health is how a reflector is doing.
type Health struct {
	State State
	// Synced tells whether the sink has had a whole view at least once.
	Synced bool
	// ResourceVersion is how far in the history the sink's view has come.
	ResourceVersion string
	// LastContact is when the server last told something new: accepted a
	// request, or sent a page, an event or a bookmark. Servers that know
	// bookmarks send one about every minute.
	LastContact time.Time
	// LastError is what went wrong last, and LastErrorAt when. They stay after
	// it goes well again: State tells whether it does.
	LastError   error
	LastErrorAt time.Time
	// Failures is how many there were since it last went well for a while.
	Failures int
}

// Ready is nil if the view is whole, and a watch is open or the last contact was
// at most patience ago. A watch counts as open until it is known to have ended,
// however long it has been silent. A readiness check that fails at the first
// broken connection would take a whole Deployment out of service while its API
// server restarts.
func (h Health) Ready(now time.Time, patience time.Duration) error {
	cause := h.LastError
	if cause == nil {
		cause = errors.New("no error so far")
	}
	if !h.Synced {
		return fmt.Errorf("not synced yet, %s: %w", h.State, cause)
	}
	if silent := now.Sub(h.LastContact); h.State != StateWatching && silent > patience {
		return fmt.Errorf("out of touch with the API server for %s, %s: %w", silent.Round(time.Second), h.State, cause)
	}
	return nil
}

// String is the state's name.
func (s State) String() string {
	return [...]string{"idle", "streaming", "listing", "connecting", "watching", "waiting", "stopped"}[s]
}
