// Command 18-defaulting fills in what the user of a Website leaves out.
package main

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/loopwright/loopwright/chapters/17-webhook/typo"
	"github.com/loopwright/loopwright/chapters/18-defaulting/theme"
	"github.com/loopwright/loopwright/chapters/example"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

func main() { demo.Main("Chapter 18: defaulting", story) }

func story(ctx context.Context, d *demo.Demo) error {
	pods := &defaults{}
	play := theme.Story(
		func() *mini.Webhook { return newWebhook(pods) },
		func(ctx context.Context, u *theme.User) error { return act(ctx, u, pods) })
	return play(ctx, d)
}

// newWebhook returns the webhook of Websites. The web team's is another program, in
// real life.
func newWebhook(pods *defaults) *mini.Webhook {
	w := &mini.Webhook{}
	w.Handle("/default", mini.Default(pods.fill))
	w.Handle("/theme", mini.Default(theme.Light))
	w.Handle("/limit", mini.Validate(typo.Check))
	return w
}

// defaults are what a user of a Website may leave out.
type defaults struct{ calls atomic.Int64 } // of fill, for steps 5 and 6

// fill gives a Website two Pods, one of them a spare, if its user doesn't say how many.
func (d *defaults) fill(_ context.Context, site *example.Website) error {
	d.calls.Add(1)
	if site.Spec.Replicas == nil {
		site.Spec.Replicas = new(int32(2))
	}
	return nil
}

// act is what users do.
func act(ctx context.Context, u *theme.User, pods *defaults) error {
	file := map[string]any{"page": "home", "theme": "dark"}
	steps := []struct {
		ask, title string
		play       func() error
	}{
		{"", "1. shop is to have a dark theme. Its file does not say how many Pods", func() error {
			return errors.Join(u.Apply(ctx, "shop", file), u.Show(ctx, "shop", 2))
		}},
		{"", "2. The user labels shop, and applies the file again", func() error {
			return errors.Join(u.Label(ctx, "shop", "team", "web"), u.Apply(ctx, "shop", file),
				u.Show(ctx, "shop", 2))
		}},
		{"how many Pods does shop have then?", "3. The file says 0 Pods now", func() error {
			file["replicas"] = 0.0
			return errors.Join(u.Apply(ctx, "shop", file), u.Show(ctx, "shop", 0))
		}},
		{"", "4. The user deletes shop", func() error {
			return errors.Join(u.Delete(ctx, "shop"), u.ShowEnd(ctx, "shop"))
		}},
		{"", "5. The web team's webhook comes second, and fills in the theme of news", func() error {
			return errors.Join(u.AskWebTeam(ctx), try(ctx, u, pods))
		}},
		{"how often is fill called?",
			"6. Ours gets reinvocationPolicy: IfNeeded", func() error {
				return errors.Join(u.AskAgain(ctx, pods.calls.Load), try(ctx, u, pods))
			}},
	}
	for _, step := range steps {
		u.Ask(step.ask)
		if err := u.Step(step.title, step.play); err != nil {
			return err
		}
	}
	return nil
}

// try asks what would be stored as news, and says how often fill was called for that.
func try(ctx context.Context, u *theme.User, pods *defaults) error {
	before := pods.calls.Load()
	err := u.WouldCreate(ctx, "news", `{"page":"home"}`)
	u.Say("Calls to fill: %d.", pods.calls.Load()-before)
	return err
}
