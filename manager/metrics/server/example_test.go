package server_test

import (
	"net/http"
	"net/http/pprof"

	"github.com/loopwright/loopwright/manager/metrics/filters"
	"github.com/loopwright/loopwright/manager/metrics/server"
)

// A manager takes these options, and serves.
func ExampleOptions() {
	_ = server.Options{
		BindAddress:    ":8443",
		SecureServing:  true,
		FilterProvider: filters.WithAuthenticationAndAuthorization,
		ExtraHandlers:  map[string]http.Handler{"/debug/pprof/": http.HandlerFunc(pprof.Index)},
	}
}
