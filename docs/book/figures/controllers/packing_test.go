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
