// Command 12-client-cache shows what a client does beyond HTTP, and what it costs to read from a cache.
//
// Each step is a function: reads.go has those about reads, writes.go about writes, race.go reads its own
// writes, rights.go is about RBAC and kinds.go about a kind that goes. traffic.go counts the requests.
package main

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/go-logr/logr"

	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/manager/log"
	"github.com/loopwright/loopwright/trace"
)

func main() {
	log.SetLogger(logr.Discard()) // the story says what caches log
	demo.Main("Chapter 12: client and cache", story)
}

func story(ctx context.Context, d *demo.Demo) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, 4*time.Minute, errors.New("the demo took longer than 4 minutes"))
	defer cancel()
	d.Show(nothing)
	s, err := newStage(d)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.end()) }()
	for _, step := range []struct {
		headline string
		play     func(context.Context) error
	}{
		{"1. From a Go type to a URL", s.liveReads},
		{"2. A thousand reads, and what they cost", s.cachedReads},
		{"3. A field that the Go type does not have", s.unknownFields},
		{"4. Two writers", s.twoWriters},
		{"5. Ten sellers, and not eleven", s.readYourWrites},
		{"6. An index", s.index},
		{"7. A visitor with few rights", s.rights},
		{"8. A kind that goes and comes back", s.kindGoes},
	} {
		err := d.Step(step.headline, func() error { return step.play(ctx) })
		s.closeCaches()
		if err != nil {
			return err
		}
	}
	d.Table("What the reads have cost", s.rows...)
	return nil
}

// onlyRequests are the lines of traffic.go. The informers' own are the subject of chapter 5.
func onlyRequests(e trace.Event) bool { return e.Layer == "request" }

func nothing(trace.Event) bool { return false }

// row is a line of the last table.
func (s *stage) row(what string, reads int, cost requests) {
	s.rows = append(s.rows, []string{what, strconv.Itoa(reads), cost.String()})
}
