package apiutil

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func strange(n int) schema.GroupVersionKind {
	return gvk(fmt.Sprintf("strange-%d.example", n), "v1", "Thing")
}

// A program that looks for kinds whose names come from its users would grow with every one that is misspelled.
func TestWhatIsNotThereIsNotRememberedWithoutEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMapper(newDocuments(podKind))
		for n := range 4 * maxQuestions {
			_, err := find(m, strange(n), "v1")
			require.True(t, meta.IsNoMatchError(err), "%v", err)
			require.LessOrEqual(t, len(m.questions), maxQuestions)
		}
		require.LessOrEqual(t, len(m.current.Load().asked), 1, "the versions that are in the list of groups")
		mustFind(t, m, "v1 pods", podKind, "v1")
	})
}

// A loop that asks for one missing kind must not get free because others are asked for, too.
func TestTheQuestionThatIsAskedMostIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDocuments(podKind)
		m := newMapper(d)
		for n := range 2 * maxQuestions {
			for range 2 * askAgainBurst {
				_, err := find(m, unknownKind, "v1")
				require.True(t, meta.IsNoMatchError(err), "%v", err)
			}
			_, _ = find(m, strange(n), "v1")
		}
		times := 0
		for _, asked := range d.requests() {
			if asked == unknownKind.GroupVersion().String() {
				times++
			}
		}
		require.Equal(t, askAgainBurst, times)
	})
}

// Callers who wait for an answer would wait forever, or ask a second time.
func TestAQuestionIsNotForgottenWhileItIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDocuments(podKind)
		m := newMapper(d)
		mustFind(t, m, "v1 pods", podKind, "v1")
		d.requests()
		d.delay = time.Second
		var asking sync.WaitGroup
		for n := range maxQuestions + 100 {
			asking.Go(func() { _, _ = find(m, strange(n), "v1") })
		}
		synctest.Wait()
		require.Len(t, d.requests(), maxQuestions+100)
		require.Len(t, m.questions, maxQuestions+100, "the one that was answered has made room")
		asking.Wait()
		_, _ = find(m, strange(-1), "v1")
		require.LessOrEqual(t, len(m.questions), maxQuestions)
	})
}

// A kind that was installed again, with another plural, is written to a path that is not there.
func TestAMapperThatIsResetAsksAgain(t *testing.T) {
	for _, aggregated := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			d := newDocuments(podKind)
			d.aggregated = aggregated
			m := newMapper(d)
			mustFind(t, m, "v1 pods", podKind, "v1")
			d.resources[podKind.GroupVersion()] = []metav1.APIResource{{Name: "peas", Kind: podKind.Kind}}
			mustFind(t, m, "v1 pods", podKind, "v1")
			meta.MaybeResetRESTMapper(m)
			mustFind(t, m, "v1 peas", podKind, "v1")
		})
	}
}
