package informer

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/loopwright/loopwright/internal/figures"
	"github.com/loopwright/loopwright/internal/figures/figurestest"
)

// outage is how long the server of the figure is away, for all of its clients.
const outage, outageClients = 10 * time.Second, 1000

// reconnect returns when each attempt was made: every client pauses after the loss of
// the server and after each failed attempt, and stops at the first that succeeds.
func reconnect(pauses func() (next func() time.Duration)) []time.Duration {
	var attempts []time.Duration
	for range outageClients {
		next := pauses()
		for at := next(); ; at += next() {
			attempts = append(attempts, at)
			if at >= outage {
				break
			}
		}
	}
	slices.Sort(attempts)
	return attempts
}

// backingOff are the pauses of one client, with random numbers from that source.
func backingOff(random func() float64) func() time.Duration {
	var b Backoff
	return func() (pause time.Duration) {
		b, pause = b.Failed(0, random())
		return pause
	}
}

// busiest is the largest number of attempts in 100 ms, from a moment on.
func busiest(attempts []time.Duration, from time.Duration) int {
	most, counts := 0, map[time.Duration]int{}
	for _, at := range attempts {
		if at >= from {
			counts[at/(100*time.Millisecond)]++
			most = max(most, counts[at/(100*time.Millisecond)])
		}
	}
	return most
}

// The chapter shows what jitter is good for. If the pauses change, so must the picture.
func TestTheFigureOfReconnectingClientsShowsTheBackoff(t *testing.T) {
	fixed := reconnect(func() func() time.Duration {
		return func() time.Duration { return time.Second }
	})
	doubling := reconnect(func() func() time.Duration {
		return backingOff(func() float64 { return 0.5 }) // the middle of what jitter would choose
	})
	random := rand.New(rand.NewPCG(3, 0))
	jittered := reconnect(func() func() time.Duration { return backingOff(random.Float64) })

	picture := figures.New(714, "A thousand clients lose their server for ten seconds",
		"Histograms of attempts to reconnect over time. With a fixed pause, and with pauses that "+
			"double, all clients "+
			"make their attempts at the same moments: each time all thousand within a tenth of a second. "+
			"With jitter the "+
			"attempts spread ever wider, and the server that comes back meets a few of them at a time.")
	picture.Text("head", 20, 32, "A thousand clients lose their server for 10 s")
	picture.Text("dim", 20, 54, "attempts to reconnect in each 100 ms")
	picture.Rect("band", 480, 42, 14, 14, 2)
	picture.Text("dim", 502, 54, "server away")
	drawAttempts(picture, 70, "Every client pauses 1 s", inFigures(fixed), "fill2", fixed,
		outageClients)
	drawAttempts(picture, 224, "Pauses double, without jitter", inFigures(doubling), "fill2",
		doubling, outageClients)
	drawAttempts(picture, 378, "Pauses double, with jitter (informer.Backoff)", inFigures(jittered),
		"fill1", jittered, outageClients)
	drawAttempts(picture, 532, "The same", "drawn four times as high", "fill1", jittered,
		outageClients/4)
	picture.Text("dim middle", 340, 704, "seconds after the loss")
	figurestest.Check(t, picture, "../chapters/03-reflector/reconnect.svg")
}

func inFigures(attempts []time.Duration) string {
	// the last attempt of each client succeeds
	median, last := attempts[len(attempts)-1-outageClients/2], attempts[len(attempts)-1]
	return fmt.Sprintf("%d attempts; after the return at most %d in 100 ms; half back by %.1f s, "+
		"all by %.1f s",
		len(attempts), busiest(attempts, outage), median.Seconds(), last.Seconds())
}

// drawAttempts draws a histogram up to that count.
func drawAttempts(
	picture *figures.Canvas, top float64, title, subtitle, class string, attempts []time.Duration,
	most float64,
) {
	const left, right, span, height = 60.0, 620.0, 26.0, 76.0
	x := func(seconds float64) float64 { return left + (right-left)*min(seconds, span)/span }
	picture.Text("bold", 20, top+16, title)
	picture.Text("small dim", 20, top+35, subtitle)
	top += 46
	bottom := top + height
	picture.Rect("band", x(0), top, x(outage.Seconds())-x(0), height, 0)
	for _, count := range []float64{0, most / 2, most} {
		y := bottom - height*count/most
		picture.Line("grid", left, y, right, y)
		picture.Text("small dim end", left-8, y+5, fmt.Sprint(count))
	}
	for second := 0.0; second <= span; second += 5 {
		picture.Text("small dim middle", x(second), bottom+16, fmt.Sprint(second))
	}
	const perSecond = 10
	var counts [span * perSecond]int
	for _, at := range attempts {
		counts[min(int(at*perSecond/time.Second), len(counts)-1)]++
	}
	outline, before := []float64{left, bottom}, bottom
	for i, count := range counts {
		if y := bottom - height*float64(count)/most; y != before {
			outline = append(outline, x(float64(i)/perSecond), before, x(float64(i)/perSecond), y)
			before = y
		}
	}
	picture.Area(class, append(outline, right, before, right, bottom)...)
}
