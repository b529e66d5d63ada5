package main

import (
	"context"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/demo/inusetest"
)

// The chapter's text shows this program.
func TestTheChecksumsStayRight(t *testing.T) { inusetest.Keeps(t, keep) }

// About half of the writes fail, those to the Lease included. When the lock is lost, the process ends, and
// a Deployment starts it again.
func TestTheChecksumsStayRightThoughWritesFail(t *testing.T) {
	inusetest.KeepsThoughWritesFail(t, func(ctx context.Context, config *rest.Config) (err error) {
		for ctx.Err() == nil {
			err = keep(ctx, config)
		}
		return err
	})
}
