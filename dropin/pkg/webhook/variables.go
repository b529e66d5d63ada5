package webhook

import (
	"cmp"

	loopwright "github.com/loopwright/loopwright/manager/webhook"
)

// DefaultPort is the port of a server whose options have none. A program may assign it.
var DefaultPort = loopwright.DefaultPort

// NewServer returns a server. It doesn't start it.
func NewServer(o Options) Server {
	o.Port = cmp.Or(o.Port, DefaultPort)
	return loopwright.NewServer(o)
}
