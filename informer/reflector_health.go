package informer

import (
	"errors"
	"fmt"
	"time"
)

// Health is how a reflector is doing.
type Health struct {
	State State
	// Synced is true once the sink has had a whole view.
	Synced bool
	// ResourceVersion is the version of the sink's view. It is empty before the
	// first view, and while polling.
	ResourceVersion string
	// LastContact is when the server last accepted a request, or sent a page, an
	// event or a bookmark. Servers that know bookmarks send one about every
	// minute.
	LastContact time.Time
	// LastError is what went wrong last, or why something else is done than
	// usual, such as polling; LastErrorAt is when. They stay after it goes well
	// again: State says whether it does.
	LastError   error
	LastErrorAt time.Time
	// Failures is how many there were since it last went well for a while.
	Failures int
}

// Ready is nil if the view is whole, and a watch is open, or the collection is
// polled and the last poll did not fail, or the last contact was at most patience
// ago. A watch counts as open until it is known to have ended, however long it
// has been quiet. A readiness check that fails at the first broken connection
// would take a whole Deployment out of service while its API server restarts.
func (h Health) Ready(now time.Time, patience time.Duration) error {
	cause := h.LastError
	if cause == nil {
		cause = errors.New("no error so far")
	}
	if !h.Synced {
		return fmt.Errorf("not synced yet, %s: %w", h.State, cause)
	}
	upToDate := h.State == StateWatching || h.State == StatePolling
	if away := now.Sub(h.LastContact); !upToDate && away > patience {
		return fmt.Errorf("out of touch with the API server for %s, %s: %w", away.Round(time.Second), h.State, cause)
	}
	return nil
}

// String is the state's name.
func (s State) String() string {
	return [...]string{"idle", "streaming", "listing", "polling", "connecting", "watching", "waiting", "stopped"}[s]
}
