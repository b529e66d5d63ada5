//go:build figures

package controllers

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/controllers/endpoints"
	"github.com/loopwright/loopwright/docs/book/figures/figure"
)

// The form that the chapter shows.
func TestTheSubsetsAreThoseOfTheChapter(t *testing.T) {
	k := newPacking()
	k.chosen = "white"
	k.Do(figure.Action{Key: "state", Value: "being deleted"})
	require.Equal(t, "green, red: http=8080 metrics=9090; blue: http=9000", k.inWords())
}

// The sentence compares the columns that are there: two pairs may be alike, or there may be none to compare.
func TestTheSentenceIsAboutTheColumnsThatAreThere(t *testing.T) {
	k := newPacking()
	set := func(pod, key, value string) string {
		k.Do(figure.Action{Key: "pod", Value: pod})
		return k.Do(figure.Action{Key: key, Value: value})
	}
	require.Contains(t, set("blue", "metrics", "9100"), "The columns http=8080 and metrics=9090 look the same, so they share a subset. The columns http=9000 and metrics=9100 look the same")
	require.Equal(t, "The Endpoints have 4 subsets now. No two columns look the same, so each has a subset of its own.", set("green", "metrics", "9100"))
	for _, pod := range []string{"green", "red", "white"} {
		set(pod, "state", "being deleted")
	}
	require.Equal(t, "The Endpoints have 1 subset now. There is only one column.", set("blue", "metrics", none))
	require.Equal(t, "The Endpoints have no subset now. No Pod is listed: each has none of the ports, or is being deleted.", set("blue", "http", none))
	require.Equal(t, "The Endpoints have 1 subset now. The columns http=8080 and metrics=9090 look the same, so they share a subset.", set("white", "state", "not ready"))
	require.Equal(t, "The Endpoints have 1 subset: (not ready: white): http=8080 metrics=9090.", k.Words())
}

// Nothing is lost and nothing is said twice, and the order of the Pods does not matter.
func TestTheSubsetsSayWhatTheTableSays(t *testing.T) {
	for seed := range uint64(400) {
		random := rand.New(rand.NewPCG(seed, 8))
		k := newPacking()
		for range 20 {
			controls := k.Controls()
			c := controls[random.IntN(len(controls)-2)]
			k.Do(figure.Action{Key: c.Key, Value: c.Options[random.IntN(len(c.Options))].Value})
		}
		k.all = seed%5 == 0
		type fact struct {
			ip, port string
			ready    bool
		}
		var table, said []fact
		_, columns := endpoints.Table(k.service(), k.objects())
		for _, column := range columns {
			for ip, ready := range column.Seats {
				table = append(table, fact{ip, portOf(column.Name, column.Port), ready})
			}
		}
		for _, s := range k.subsets() {
			for _, port := range s.Ports {
				for _, address := range s.Addresses {
					said = append(said, fact{address.IP, portOf(port.Name, port.Port), true})
				}
				for _, address := range s.NotReadyAddresses {
					said = append(said, fact{address.IP, portOf(port.Name, port.Port), false})
				}
			}
		}
		require.ElementsMatch(t, table, said)
		before := k.inWords()
		for range k.servers {
			require.Contains(t, k.Do(figure.Action{Key: "turn"}), "nothing is written")
		}
		slices.Reverse(k.servers)
		require.Equal(t, before, k.inWords())
	}
}
