package loopwright

import (
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/builder"
)

// NewWebhookManagedBy begins the webhooks of a kind, which a manager's webhook server serves.
func NewWebhookManagedBy[T runtime.Object](mgr manager.Manager, obj T) *builder.WebhookBuilder[T] {
	return builder.WebhookManagedBy(mgr, obj)
}
