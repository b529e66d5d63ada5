package source

import (
	"context"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/predicate"
	"github.com/loopwright/loopwright/manager/reconcile"
)

// A handler that has panicked has lost an event. A program that went on would never know, so it
// ends, and finds all objects in a list when it starts again. The test runs itself as that program.
func TestAPanicOfAPredicateOrAHandlerEndsTheProcess(t *testing.T) {
	if who := os.Getenv("SOURCE_PANICS"); who != "" {
		panics(t, who)
		return
	}
	for _, who := range []string{"predicate", "handler"} {
		program := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		program.Env = append(os.Environ(), "SOURCE_PANICS="+who)
		output, err := program.CombinedOutput()
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit, "the program goes on")
		require.Equal(t, 2, exit.ExitCode(), "it's Go's own crash")
		require.Contains(t, string(output), "panic: the "+who+" slipped")
	}
}

// panics returns if the source goes on, and calls its handler for another event.
func panics(t *testing.T, who string) {
	events, slipped, goesOn := make(chan event.GenericEvent), false, make(chan struct{})
	slips := func(part string) {
		if part == who && !slipped {
			slipped = true
			panic("the " + who + " slipped")
		}
	}
	s := Channel(events, handler.Funcs{GenericFunc: func(context.Context, event.GenericEvent,
		requestQueue) {
		slips("handler")
		close(goesOn)
	}}, WithPredicates[client.Object, reconcile.Request](predicate.Funcs{
		GenericFunc: func(event.GenericEvent) bool {
			slips("predicate")
			return true
		}}))
	require.NoError(t, s.Start(t.Context(), newQueue()))
	events <- event.GenericEvent{Object: &corev1.ConfigMap{}}
	events <- event.GenericEvent{Object: &corev1.ConfigMap{}}
	<-goesOn
}
