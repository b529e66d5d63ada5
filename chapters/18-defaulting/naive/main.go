// Command naive sends back the whole Website, and gives it a Pod more each time.
package main

import (
	"context"
	"encoding/json"
	"errors"

	"gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"

	"github.com/loopwright/loopwright/chapters/17-webhook/typo"
	"github.com/loopwright/loopwright/chapters/18-defaulting/theme"
	"github.com/loopwright/loopwright/chapters/example"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

var story = theme.Story(newWebhook, act)

func main() { demo.Main("Chapter 18, naive: compare what came with what goes", story) }

// newWebhook returns the webhook of Websites.
func newWebhook() *mini.Webhook {
	w := &mini.Webhook{}
	w.Handle("/default", mini.Admission(spare))
	w.Handle("/limit", mini.Validate(typo.Check))
	return w
}

// spare gives each Website a Pod more than its user wants, for the day when one dies.
func spare(_ context.Context, req *admissionv1.AdmissionRequest) ([]byte, error) {
	var site example.Website
	if err := json.Unmarshal(req.Object.Raw, &site); err != nil {
		return nil, err
	}
	site.Spec.Replicas = new(typo.Replicas(&site) + 1)
	filled, err := json.Marshal(&site)
	if err != nil {
		return nil, err
	}
	patch, err := jsonpatch.CreatePatch(req.Object.Raw, filled)
	if err != nil {
		return nil, err
	}
	return json.Marshal(patch)
}

// act is what users do.
func act(ctx context.Context, u *theme.User) error {
	u.Ask("how many Pods does shop get, and which theme?")
	err := u.Step("1. shop is to have 2 Pods, and a dark theme", func() error {
		file := map[string]any{"page": "home", "replicas": 2.0, "theme": "dark"}
		return errors.Join(u.Apply(ctx, "shop", file), u.Show(ctx, "shop", 4))
	})
	if err != nil {
		return err
	}
	err = u.Step("2. The user labels shop", func() error {
		return errors.Join(u.Label(ctx, "shop", "team", "web"), u.Show(ctx, "shop", 5))
	})
	if err != nil {
		return err
	}
	u.Ask("does shop go?")
	return u.Step("3. The user deletes shop, and tries to take the finalizer out by hand", func() error {
		return errors.Join(u.Delete(ctx, "shop"), u.Release(ctx, "shop"))
	})
}
