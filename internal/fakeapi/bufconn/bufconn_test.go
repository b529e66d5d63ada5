package bufconn_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/fakeapi/bufconn"
)

func TestWhatOneEndWritesTheOtherReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listener := bufconn.NewListener()
		go func() {
			server, err := listener.Accept()
			if err == nil {
				_, err = server.Write([]byte("hello"))
			}
			if err != nil {
				t.Error(err)
			}
		}()
		client, err := listener.Dial(t.Context())
		require.NoError(t, err)
		read := make([]byte, 5)
		_, err = client.Read(read)
		require.NoError(t, err)
		require.Equal(t, "hello", string(read))
		require.Equal(t, "pipe", listener.Addr().Network())
	})
}

func TestNobodyWaitsForAListenerThatIsClosedOrForACallerThatHasGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listener := bufconn.NewListener()
		gone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(gone)
		_, err := listener.Dial(ctx)
		require.ErrorIs(t, err, gone)
		require.NoError(t, listener.Close())
		require.NoError(t, listener.Close(), "once more does nothing")
		_, err = listener.Dial(t.Context())
		require.ErrorIs(t, err, net.ErrClosed)
		_, err = listener.Accept()
		require.ErrorIs(t, err, net.ErrClosed)
	})
}
