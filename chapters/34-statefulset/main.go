// Command 34-statefulset runs mini's StatefulSet controller.
package main

import (
	"github.com/loopwright/loopwright/chapters/34-statefulset/peers"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

func main() {
	peers.Main("Chapter 34: StatefulSets", mini.NewStatefulSetController,
		demo.Predict(2,
			"the new image doesn't exist. How many of the three members get it?",
			"the line of step 2"))
}
