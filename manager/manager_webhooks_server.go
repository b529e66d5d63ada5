package manager

import "github.com/loopwright/loopwright/manager/webhook"

func init() {
	newWebhookServer = func() webhook.Server { return webhook.NewServer(webhook.Options{}) }
}
