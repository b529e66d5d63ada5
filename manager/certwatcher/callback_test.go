package certwatcher

import (
	"crypto/tls"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/manager/metrics"
)

// A callback may read the certificate and register another callback: no lock is held.
func TestACallbackMayCallTheWatcher(t *testing.T) {
	f := inFiles(t, fresh(t, "a"))
	cw := f.watcher()
	calls := 0
	cw.RegisterCallback(func(tls.Certificate) {
		if calls++; calls == 1 {
			require.Equal(t, "a", serves(t, cw))
			f.write(fresh(t, "b"))
			require.NoError(t, cw.ReadCertificate())
		}
	})
	require.GreaterOrEqual(t, calls, 2)
}

func TestTheNewestPairIsToldLast(t *testing.T) {
	f := inFiles(t, fresh(t, "a"))
	cw := f.watcher()
	var mu sync.Mutex
	last := ""
	var all sync.WaitGroup
	for _, host := range []string{"b", "c", "d"} {
		p := fresh(t, host)
		all.Go(func() {
			cw.RegisterCallback(func(c tls.Certificate) {
				mu.Lock()
				defer mu.Unlock()
				last = c.Leaf.Subject.CommonName
			})
		})
		f.write(p)
		all.Go(func() { require.NoError(t, cw.ReadCertificate()) })
		all.Wait()
		require.Equal(t, host, last)
	}
}

func TestReadsAreCounted(t *testing.T) {
	count := func(name string) float64 {
		families, err := metrics.Registry.Gather()
		require.NoError(t, err)
		for _, family := range families {
			if family.GetName() == name {
				return family.GetMetric()[0].GetCounter().GetValue()
			}
		}
		t.Fatalf("there is no metric %s", name)
		return 0
	}
	total, failed := count("certwatcher_read_certificate_total"), count("certwatcher_read_certificate_errors_total")
	f := inFiles(t, fresh(t, "a"))
	cw := f.watcher()
	require.NoError(t, os.Remove(f.key()))
	require.Error(t, cw.ReadCertificate())
	require.Equal(t, total+2, count("certwatcher_read_certificate_total"))
	require.Equal(t, failed+1, count("certwatcher_read_certificate_errors_total"))
}

func TestEveryReplicaWatchesItsCertificate(t *testing.T) {
	require.False(t, inFiles(t, fresh(t, "a")).watcher().NeedLeaderElection())
}

// A certificate that was not renewed in time is found in the log, or by users.
func TestTheLogSaysWhatHappensToTheCertificate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex // guards lines
		var lines []string
		logger := funcr.New(func(_, args string) {
			mu.Lock()
			defer mu.Unlock()
			lines = append(lines, args)
		}, funcr.Options{})
		said := func() (since []string) {
			mu.Lock()
			defer mu.Unlock()
			since, lines = lines, nil
			return since
		}
		f := inFiles(t, fresh(t, "old"))
		cw := &CertWatcher{certPath: f.cert(), keyPath: f.key(), log: logger}
		require.NoError(t, cw.ReadCertificate())
		require.Empty(t, said(), "the first one is no change")

		running(t, cw, nil)
		require.Equal(t, []string{`"level"=0 "msg"="Watching the certificate" "interval"="10s"`},
			said())

		f.write(fresh(t, "new"))
		time.Sleep(3 * defaultWatchInterval)
		synctest.Wait()
		require.Equal(t, []string{`"level"=0 "msg"="The certificate has changed"`}, said(),
			"once, and not at each interval")

		require.NoError(t, os.Remove(f.key()))
		time.Sleep(defaultWatchInterval)
		synctest.Wait()
		failed := said()
		require.Len(t, failed, 1)
		require.Contains(t, failed[0],
			`"msg"="The certificate could not be read; the last one stays in use"`)
	})
}
