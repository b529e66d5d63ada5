package mini

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"

	"github.com/loopwright/loopwright/internal/figures"
	"github.com/loopwright/loopwright/internal/figures/figurestest"
)

// figuredCron is a CronJob over time: a controller starts its Jobs when it runs.
type figuredCron struct {
	*testing.T
	*batchv1.CronJob
}

// starts is the Job of the start that's due, if one is.
func (c figuredCron) starts(now string) figures.State {
	due, _, err := dueStart(c.CronJob, nil, clockTime(c.T, now))
	require.NoError(c, err)
	if due.IsZero() {
		return figures.State{}
	}
	c.Status = cronJobStatus(c.CronJob, nil, due)
	return figures.State{Class: "fresh", Text: "of " + due.Format("Jan 2")}
}

// The chapter shows three midnights without a controller, and which of them are made up for.
func TestTheFigureOfACronJobShowsWhichStartsAreMadeUpFor(t *testing.T) {
	picture := figures.NewSteps("controller", "start", "Job", "deadline\nof 1 h")
	always, punctual := figuredCron{t, plannedCron(t)}, figuredCron{t, plannedCron(t)}
	punctual.Spec.StartingDeadlineSeconds = new(int64(time.Hour / time.Second))
	for _, moment := range []struct {
		at    string
		start bool
		runs  bool
	}{
		{"Jan 2 00:00:00", true, true},
		{"Jan 3 00:00:00", true, false},
		{"Jan 4 00:00:00", true, false},
		{"Jan 5 00:00:00", true, false},
		{"Jan 5 08:00:00", false, true},
		{"Jan 6 00:00:00", true, true},
	} {
		states := make([]figures.State, 4)
		if moment.start {
			states[1] = figures.State{Class: "box", Text: moment.at[:5]}
		}
		if moment.runs {
			states[0] = figures.State{Class: "well", Text: "runs"}
			states[2], states[3] = always.starts(moment.at), punctual.starts(moment.at)
		}
		picture.Add(moment.at[:len("Jan 2 00:00")], states...)
	}
	figurestest.Check(t, picture.Draw("Starts that no controller saw",
		"A controller misses the starts of January 3, 4 and 5. At 8 o'clock it's back, "+
			"and creates a Job for the last of them. With a deadline of an hour, it creates "+
			"none. The start of January 6 has its Job."),
		"../chapters/32-cronjob/starts.svg")
}
