package webhook_test

import "github.com/loopwright/loopwright/manager/webhook"

// usualPort is the default port for programs.
var usualPort = webhook.DefaultPort

// The example in use runs on the in-memory API server, which calls no webhooks. So its server is
// switched off, and need not have port 9443 to itself. The other tests name a port or a listener.
func init() { webhook.DefaultPort = -1 }
