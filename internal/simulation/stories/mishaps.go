package stories

import (
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/simulation"
)

// on matches requests; an empty resource is any.
func on(verb, resource string) fakeapi.Match { return fakeapi.Match{Verb: verb, Resource: resource} }

// lost are answers to writes that the server has carried out.
func lost(name string, of fakeapi.Match, often float64) simulation.Mishap {
	return simulation.Mishap{Name: name, Fault: fakeapi.Fault{Match: of, Probability: often, LoseResponse: true}}
}

func fails(name string, of fakeapi.Match, often float64, with *metav1.Status) simulation.Mishap {
	return simulation.Mishap{Name: name, Fault: fakeapi.Fault{Match: of, Probability: often, Status: with}}
}

// late are the events of a watch.
func late(name, resource string, delay time.Duration) simulation.Mishap {
	return simulation.Mishap{Name: name, Fault: fakeapi.Fault{Match: on("watch", resource), DelayEvents: delay}}
}

// milliseconds is a random time of fewer than most milliseconds.
func milliseconds(random *rand.Rand, most int) time.Duration {
	return time.Duration(random.IntN(most)) * time.Millisecond
}
