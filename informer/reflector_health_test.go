package informer

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A readiness check that fails too early takes every replica out of service while the API
// server restarts; one that fails too late sends users to a program that sees nothing.
func TestAReflectorIsReadyUntilItIsOutOfTouchForTooLong(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	cut := errors.New("the connection was cut")
	for _, c := range []struct {
		name   string
		health Health
		want   string // nothing if it is ready
	}{
		{"no view yet, though a watch is open", Health{State: StateStreaming, LastContact: now}, "not synced yet, streaming: no error so far"},
		{"no view yet, and an error", Health{State: StateWaiting, LastContact: now, LastError: cut}, "not synced yet, waiting: the connection was cut"},
		{"a quiet watch", Health{State: StateWatching, Synced: true, LastContact: now.Add(-time.Hour)}, ""},
		{"a long interval between polls", Health{State: StatePolling, Synced: true, LastContact: now.Add(-time.Hour)}, ""},
		{"away for as long as patience lasts", Health{State: StateWaiting, Synced: true, LastContact: now.Add(-time.Minute), LastError: cut}, ""},
		{"away for longer", Health{State: StateConnecting, Synced: true, LastContact: now.Add(-time.Minute - 400*time.Millisecond), LastError: cut},
			"out of touch with the API server for 1m0s, connecting: the connection was cut"},
		{"away for longer, without an error", Health{State: StateStopped, Synced: true, LastContact: now.Add(-61 * time.Second)},
			"out of touch with the API server for 1m1s, stopped: no error so far"},
	} {
		err := c.health.Ready(now, time.Minute)
		if c.want == "" {
			require.NoError(t, err, c.name)
			continue
		}
		require.EqualError(t, err, c.want, c.name)
		if c.health.LastError != nil {
			require.ErrorIs(t, err, cut, c.name)
		}
	}
}

// The names stand in the error of a readiness check and in the chapter's diagram.
func TestEachStateHasItsName(t *testing.T) {
	var names []string
	for s := StateIdle; s <= StateStopped; s++ {
		names = append(names, s.String())
	}
	require.Equal(t, "[idle streaming listing polling connecting watching waiting stopped]", fmt.Sprint(names))
}
