package main

import (
	"testing"

	"github.com/loopwright/loopwright/chapters/23-template/web"
	"github.com/loopwright/loopwright/chapters/kubelet"
	"github.com/loopwright/loopwright/internal/demo/demotest"
)

func TestTheProgramDoesWhatTheTextShows(t *testing.T) {
	demotest.InMemoryWith(t, kubelet.InMemory, web.Story(replaceAll),
		demotest.Rule{Find: `web-[a-z0-9]{6,}`, Put: "web-HASH"},
		demotest.Rule{Find: `available for [\d.]+m?s`, Put: "available for TIME"})
}
