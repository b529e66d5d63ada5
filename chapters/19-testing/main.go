// Command 19-testing plays bad days until one ends wrong, and then the same days with a mended controller.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/chapters/19-testing/days"
	"github.com/loopwright/loopwright/chapters/19-testing/stage"
	"github.com/loopwright/loopwright/chapters/19-testing/website"
	"github.com/loopwright/loopwright/chapters/example"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

func main() {
	days.Main(func(in days.Bubble) {
		demo.Main("Chapter 19: testing a controller", story(in),
			demo.Predict(1, "how many faults does it take to break the careful controller?", "the last line above"),
			demo.Predict(2, "how many of 200 days end badly for the mended one?", "the last line above"))
	})
}

const seeds = 200

func story(in days.Bubble) func(context.Context, *demo.Demo) error {
	return func(ctx context.Context, d *demo.Demo) error {
		slog.SetDefault(slog.New(slog.DiscardHandler)) // reconciles that fail
		var bad *mini.BadDay
		err := d.Step("1. Bad days of the careful controller", func() error {
			careful := days.Day(in, website.Careful)
			bad = mini.Play(seeds, careful)
			if bad == nil {
				return errors.New("all days have ended well")
			}
			faults := &mini.Faults{Choose: mini.Seed(bad.Seed)}
			d.Say("A calm day ends with  %s.", bad.Calm)
			d.Say("Seed %d ends with      %s.", bad.Seed, careful(faults))
			tell(d, "What went wrong on that day:", faults.Story())
			tell(d, "What is enough for it:", bad.Story)
			return ctx.Err()
		})
		if err != nil {
			return err
		}
		err = d.Step("2. The same days of the mended controller", func() error {
			if bad := mini.Play(seeds, days.Day(in, publish)); bad != nil {
				return fmt.Errorf("seed %d ends with %s, after %s", bad.Seed, bad.End, bad.Story)
			}
			d.Say("All %d days end like the calm one.", seeds)
			return ctx.Err()
		})
		if err != nil {
			return err
		}
		again := &mini.Faults{Choose: func(c mini.Call) mini.Fault {
			c.Path = strings.Replace(c.Path, d.Namespace, days.Namespace, 1)
			return mini.Only(bad.Story)(c)
		}}
		return stage.With(ctx, d, publish, again.Wrap, func(s *stage.Stage) error {
			return d.Step("3. The same fault on a real API server", func() error {
				err := s.Open(ctx, "shop")
				tell(d, "What went wrong:", again.Story())
				return err
			})
		})
	}
}

// tell tells a story.
func tell(d *demo.Demo, title string, story []mini.Injected) {
	d.Say("%s", title)
	for _, i := range story {
		d.Say("  %s", i)
	}
}

// publish opens a page for a Website if the CDN has none. Whatever fails, the next call
// goes on from what there is.
func publish(
	ctx context.Context, c website.Client, cdn *website.CDN,
	site *example.Website, page string,
) error {
	id := cdn.Find(site.UID)
	if id == "" {
		id = cdn.Open(site.UID)
	}
	if site.Annotations[website.PageID] != id {
		metav1.SetMetaDataAnnotation(&site.ObjectMeta, website.PageID, id)
		if err := c.Update(ctx, site); err != nil {
			return err
		}
	}
	return cdn.Put(id, page)
}
