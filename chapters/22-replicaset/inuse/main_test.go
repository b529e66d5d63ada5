package main

import (
	"testing"

	"github.com/go-logr/logr"

	"github.com/loopwright/loopwright/internal/demo/inusetest"
	"github.com/loopwright/loopwright/manager/log"
)

// The chapter's text shows this program.
func TestThereAreAsManyPodsAsAskedFor(t *testing.T) {
	log.SetLogger(logr.Discard())
	inusetest.KeepsPods(t, keep)
}
