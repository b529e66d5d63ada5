// Command 32-cronjob runs mini's CronJob controller.
package main

import (
	"github.com/loopwright/loopwright/chapters/32-cronjob/nights"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

func main() {
	nights.Main("Chapter 32: CronJobs", mini.NewCronJobController,
		demo.Predict(2,
			"in step 2, the status gets lost, and the controller tries again. Which writes does "+
				"the API server get from it, all in all?",
			"the two writes above"))
}
