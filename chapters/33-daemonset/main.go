// Command 33-daemonset runs mini's DaemonSet controller.
package main

import (
	"github.com/loopwright/loopwright/chapters/33-daemonset/agents"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

func main() {
	agents.Main("Chapter 33: DaemonSets", mini.NewDaemonSetController,
		demo.Predict(2,
			"a node that has an agent gets a NoSchedule taint. What happens to the agent?",
			"the line of step 2"))
}
