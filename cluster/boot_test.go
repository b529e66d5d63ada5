package cluster

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAStartIsTriedAgainIfTheReasonPasses(t *testing.T) {
	died := func(of string) error {
		path := filepath.Join(t.TempDir(), "kwok.log")
		require.NoError(t, os.WriteFile(path, []byte("Watch nodes\n"+of+"\n\ngoroutine 1 [running]:\nmain.main()\n"), 0o600))
		return &partError{Kwok, path, errors.New("ended")}
	}
	for _, c := range []struct {
		err     error
		options Options
		again   string
	}{
		{died("fatal error: concurrent map writes"), Options{}, "A part ended because of a race in itself; starting again."},
		{died("fatal error: concurrent map iteration and map write"), Options{Port: 6443}, "A part ended because of a race in itself; starting again."},
		{died("listen tcp 127.0.0.1:40000: bind: address already in use"), Options{}, "A port was taken meanwhile; trying others."},
		{died("listen tcp 127.0.0.1:6443: bind: address already in use"), Options{Port: 6443}, ""},
		{died("disk full"), Options{}, ""},
	} {
		require.Equal(t, c.again, passes(c.err, c.options), c.err.Error())
	}
}
