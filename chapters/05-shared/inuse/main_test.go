package main

import (
	"testing"

	"github.com/loopwright/loopwright/internal/demo/inusetest"
)

// The chapter's text shows this program.
func TestTheChecksumsStayRight(t *testing.T) { inusetest.Keeps(t, keep) }

// A write that fails is tried again with the next resync.
func TestTheChecksumsStayRightThoughWritesFail(t *testing.T) {
	inusetest.KeepsThoughWritesFail(t, keep)
}
