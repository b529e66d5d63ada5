package webhook_test

import "github.com/loopwright/loopwright/manager/webhook"

// The example in use runs on the in-memory API server, which calls no webhooks. So its server is switched off, and
// need not have port 9443 to itself. All other tests bring their own listener.
func init() { webhook.DefaultPort = -1 }
