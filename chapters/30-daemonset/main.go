// Command 30-daemonset runs mini's DaemonSet controller.
package main

import (
	"github.com/loopwright/loopwright/chapters/30-daemonset/agents"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

func main() {
	agents.Main("Chapter 30: DaemonSets", mini.NewDaemonSetController,
		demo.Predict(2,
			"a taint NoSchedule comes to a node that has an agent. What becomes of the agent?",
			"the line of step 2"))
}
