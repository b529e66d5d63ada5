package debug_test

import (
	"net/http"

	"github.com/loopwright/loopwright/manager/debug"
	"github.com/loopwright/loopwright/manager/metrics/server"
	"github.com/loopwright/loopwright/trace"
)

// Whoever gives controllers a recorder can look into it, here on the metrics server.
func ExampleReconciles() {
	recorder := trace.New(0)
	_ = server.Options{ExtraHandlers: map[string]http.Handler{
		debug.ReconcilesPath: debug.Reconciles(recorder),
	}}
}
