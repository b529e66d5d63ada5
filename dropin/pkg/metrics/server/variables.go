package server

import (
	"cmp"
	"net/http"

	loopwright "github.com/loopwright/loopwright/manager/metrics/server"
	"k8s.io/client-go/rest"
)

// DefaultBindAddress is the address for metrics if the options have none. Programs assign it: "0"
// means no server.
var DefaultBindAddress = loopwright.DefaultBindAddress

// NewServer makes a server, or returns nil without an error if the address is "0".
func NewServer(o Options, config *rest.Config, httpClient *http.Client) (Server, error) {
	o.BindAddress = cmp.Or(o.BindAddress, DefaultBindAddress)
	return loopwright.NewServer(o, config, httpClient)
}
