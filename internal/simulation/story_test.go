package simulation

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/manager/client"
)

// What happened before and what happens in the end is known, so a write in the end is one too many.
func TestTheJudgeSeesAWriteAfterTheEnd(t *testing.T) {
	for _, writes := range []bool{false, true} {
		broken := judged(t, func(w *World) {
			w.restFor = time.Minute
			connection, _ := w.Connect("other")
			controllers, err := client.New(connection, client.Options{Mapper: usersMapper()})
			require.NoError(t, err)
			if writes {
				w.Go(func() {
					time.Sleep(30 * time.Second)
					err := controllers.Create(w.T.Context(), &corev1.ConfigMap{
						ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "late"},
					})
					if err != nil {
						t.Error(err)
					}
				})
			}
			w.nothingIsWritten()
		}, func(history) {})
		require.Equal(t, writes, slices.Contains(broken, Quiet))
	}
}

func TestADayWithAnotherEndIsBroken(t *testing.T) {
	calm, wild := ending{state: "3 Pods"}, ending{state: "2 Pods"}
	require.Equal(t, SameEnd, verdict(calm, wild)[0].Promise)
	require.Empty(t, verdict(calm, ending{state: "3 Pods"}))
	calm.broken = []Broken{{Promise: NeverMore}}
	require.Equal(t, NeverMore, verdict(calm, wild)[0].Promise,
		"what breaks without a mishap comes first")
	wild.broken = []Broken{{Promise: Mended}}
	require.Equal(t, slices.Concat(calm.broken, wild.broken), verdict(calm, wild),
		"if an end is wrong, that it's another one says nothing more")
}
