// Command 31-job runs mini's Job controller.
package main

import (
	"github.com/loopwright/loopwright/chapters/31-job/letters"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

func main() {
	letters.Main("Chapter 31: Jobs", mini.NewJobController,
		demo.Predict(3,
			"in step 3, a Pod is deleted while no controller runs. What keeps it, and which "+
				"three writes count it when the controller is back?",
			"the writes above, and the list before them"))
}
