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
			"in step 2, the write of the status gets lost, and the controller tries again. Which "+
				"writes does the API server receive in total?",
			"the two writes above"))
}
