package main

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/chapters/19-endpoints/coda/picture"
)

// A node that is slow may take as long as it likes, but a demo that stands still must end, though events keep coming.
func TestTheDemoWaitsWhileSomethingChanges(t *testing.T) {
	for _, test := range []struct {
		pods  []string // one comes every two minutes
		wants error
	}{
		{[]string{"a", "b", "c", "d", "e"}, nil},
		{[]string{"a", "b", "b", "b", "b", "c", "d", "e"}, errNothingChanges}, // b is news, and changes nothing
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld("web")
			go func() {
				for _, name := range test.pods {
					time.Sleep(2 * time.Minute)
					w.change(func() { w.pods.saw(pod(types.UID(name), true)) })
				}
			}()
			_, err := w.until(t.Context(), "five Pods", func(_ picture.Facts, pods int) bool { return pods == 5 })
			require.ErrorIs(t, err, test.wants)
			synctest.Wait()
			time.Sleep(time.Hour) // for the goroutine above
		})
	}
}
