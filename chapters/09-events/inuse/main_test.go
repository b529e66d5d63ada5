package main

import (
	"testing"

	"github.com/loopwright/loopwright/internal/demo/inusetest"
)

// The chapter's text shows this program.
func TestTheChecksumsStayRight(t *testing.T) { inusetest.Keeps(t, keep) }

// About half of the writes fail. The controller has to try again.
func TestTheChecksumsStayRightThoughWritesFail(t *testing.T) {
	inusetest.KeepsThoughWritesFail(t, keep)
}
