package manager

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/manager/webhook"
)

func TestAManagerHasAWebhookServerOfItsOwn(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		require.IsType(t, &webhook.DefaultServer{}, w.manager(Options{}).GetWebhookServer())
	})
}
