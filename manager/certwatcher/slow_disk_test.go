package certwatcher

import (
	"crypto/tls"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A slow disk has the first certificate of a chain, and three bytes of the line with which the
// second one begins. That's a chain that clients don't trust, and it fits its key.
func TestAChainThatEndsInTheFirstBytesOfItsNextBlockIsNotServed(t *testing.T) {
	old, key := newPair(t, "old", nil)
	renewed, _ := newPair(t, "new", key)
	next := fresh(t, "authority").cert
	f := inFiles(t, old)
	cw := f.watcher()
	for n := 1; n < len(next)-1; n++ { // without its last newline a block is complete
		half := append(append([]byte{}, renewed.cert...), next[:n]...)
		require.NoError(t, os.WriteFile(f.cert(), half, 0o600))
		require.ErrorContains(t, cw.ReadCertificate(), "ends in the middle of a PEM block",
			"%d bytes of the second certificate", n)
		require.Equal(t, "old", serves(t, cw), "%d bytes of the second certificate", n)
	}
}

// Text may stand between blocks and after them, and a dash in it is none of a block's.
func TestTextAfterTheLastBlockIsNoHalfOfABlock(t *testing.T) {
	for _, text := range []string{"\n", "the end\n", "the end", "a-b-", "# ---"} {
		p := fresh(t, "a")
		p.cert = append(p.cert, text...)
		f := inFiles(t, p)
		require.Equal(t, "a", serves(t, f.watcher()), "%q", text)
	}
}

// A renewal turns out to be wrong, and the operator puts the old files back.
func TestAPairThatIsPutBackIsServedAgainAndTold(t *testing.T) {
	a, b := fresh(t, "a"), fresh(t, "b")
	f := inFiles(t, a)
	cw := f.watcher()
	var told []string
	cw.RegisterCallback(func(c tls.Certificate) { told = append(told, c.Leaf.Subject.CommonName) })
	for _, p := range []pair{b, a, b} {
		f.write(p)
		require.NoError(t, cw.ReadCertificate())
	}
	require.Equal(t, "b", serves(t, cw))
	require.Equal(t, []string{"a", "b", "a", "b"}, told)
}

// The volume is unmounted for a moment, and is another one after that.
func TestAPairWhoseDirectoryIsAwayStaysInUseAndTheNextOneIsNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := inFiles(t, fresh(t, "old"))
		cw := f.watcher()
		running(t, cw, nil)
		require.NoError(t, os.RemoveAll(f.dir))
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, "old", serves(t, cw), "a server without a certificate serves nobody")
		require.NoError(t, os.Mkdir(f.dir, 0o700))
		require.NoError(t, os.WriteFile(f.cert(), fresh(t, "half").cert, 0o600))
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, "old", serves(t, cw), "its key isn't there yet")
		f.write(fresh(t, "new"))
		time.Sleep(defaultWatchInterval)
		synctest.Wait()
		require.Equal(t, "new", serves(t, cw))
	})
}

// Start reads no further while a callback is busy, so that the callback isn't called by two
// goroutines at a time. A program that reads by itself has to see to that itself.
func TestStartWaitsForASlowCallbackBeforeItReadsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := inFiles(t, fresh(t, "a"))
		cw := f.watcher()
		calls, busy := 0, false
		cw.RegisterCallback(func(tls.Certificate) {
			require.False(t, busy, "the callback was called while it was busy")
			busy = true
			if calls++; calls > 1 {
				time.Sleep(time.Minute)
			}
			busy = false
		})
		running(t, cw, nil)
		for _, host := range []string{"b", "c", "d"} {
			f.write(fresh(t, host))
			time.Sleep(2 * defaultWatchInterval)
			require.NotEqual(t, "d", serves(t, cw), "Start has read during the callback for b")
		}
		time.Sleep(3 * time.Minute)
		require.Equal(t, "d", serves(t, cw), "it caught up when the callback returned")
	})
}
