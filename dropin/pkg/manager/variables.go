package manager

import (
	loopwright "github.com/loopwright/loopwright/manager"
	oursserver "github.com/loopwright/loopwright/manager/metrics/server"
	ourswebhook "github.com/loopwright/loopwright/manager/webhook"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// New returns a manager. It fills in the defaults that a program has assigned here, because the library
// only reads its own variables.
func New(config *rest.Config, options Options) (Manager, error) {
	if options.Logger.GetSink() == nil {
		options.Logger = log.Log
	}
	if options.Metrics.BindAddress == "" && server.DefaultBindAddress != oursserver.DefaultBindAddress {
		options.Metrics.BindAddress = server.DefaultBindAddress
	}
	if options.WebhookServer == nil && webhook.DefaultPort != ourswebhook.DefaultPort {
		options.WebhookServer = webhook.NewServer(webhook.Options{})
	}
	return loopwright.New(config, options)
}
