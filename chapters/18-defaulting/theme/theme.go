// Package theme is what both programs of the chapter have: the CRD of Websites gets a field that the Go type doesn't
// know, the API server asks a webhook before it stores a Website, and a user has kubectl.
package theme

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/chapters/17-webhook/registration"
	"github.com/loopwright/loopwright/chapters/17-webhook/typo"
	"github.com/loopwright/loopwright/chapters/example"
	"github.com/loopwright/loopwright/chapters/example/website"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

// Story plays the acts of a user while the controller of Websites runs with a webhook. The API server asks it under
// /default and under /limit.
func Story(newWebhook func() *mini.Webhook, act func(context.Context, *User) error) func(context.Context, *demo.Demo) error {
	user := &User{}
	return typo.Story(
		func(u *typo.User) (typo.Run, error) {
			w := newWebhook()
			r, err := registration.New(u, w)
			user.User, user.Registration = u, r
			return func(ctx context.Context, p website.Process) error {
				return run(ctx, p, w)
			}, err
		},
		func(ctx context.Context, _ *typo.User) error {
			err := errors.Join(user.grow(ctx), user.register(ctx))
			if err == nil {
				err = act(ctx, user)
			}
			return errors.Join(err, user.Remove(ctx), user.untilNoQuestion(ctx))
		})
}

// run gives the parts to a manager.
func run(ctx context.Context, p website.Process, w *mini.Webhook) error {
	m := mini.NewManager(p.Cluster)
	m.Elector = p.Elector
	r := p.Reconciler(m.Client)
	c, err := website.New(m.Cache, r)
	if err != nil {
		return err
	}
	c.Reconciler = &mini.Finalizing[*example.Website]{
		Client: m.Client, Finalizer: "web.example.com/cdn",
		Cleanup: r.Unpublish, Next: r,
	}
	m.AddController(c)
	m.AddServer(w)
	return m.Run(ctx)
}

// User is a user with kubectl.
type User struct {
	*typo.User
	*registration.Registration
}

// grow adds spec.theme to the CRD, as a newer version of it would.
func (u *User) grow(ctx context.Context) error {
	const field = `[{"op":"add","value":{"type":"string"},
		"path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/theme"}]`
	err := u.Client.CoreV1().RESTClient().Patch(types.JSONPatchType).
		AbsPath("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/websites.web.example.com").
		Body([]byte(field)).Do(ctx).Error()
	if err != nil {
		return fmt.Errorf("adding a field to the CRD of Website: %w", err)
	}
	return u.Until(ctx, "the new field", func() bool {
		stored, err := u.dryRun(ctx, `{"page":"home","theme":"dark"}`)
		return err == nil && stored == `{"page":"home","theme":"dark"}`
	})
}

func (u *User) register(ctx context.Context) error {
	u.Mutate("default", "web.example.com", "websites")
	u.Validate("limit", "web.example.com", "websites")
	if err := u.Write(ctx); err != nil {
		return err
	}
	return errors.Join(
		u.Until(ctx, "the default", func() bool {
			stored, err := u.dryRun(ctx, `{"page":"home"}`)
			return err == nil && strings.Contains(stored, `"replicas"`)
		}),
		u.Until(ctx, "the limit", func() bool {
			_, err := u.dryRun(ctx, tooMany)
			return err != nil
		}))
}

const tooMany = `{"page":"home","replicas":30}`

// untilNoQuestion waits until the API server asks no more: the program is about to end.
func (u *User) untilNoQuestion(ctx context.Context) error {
	return u.Until(context.WithoutCancel(ctx), "that the webhook is gone", func() bool {
		nothing, err1 := u.dryRun(ctx, `{"page":"home"}`)
		many, err2 := u.dryRun(ctx, tooMany)
		return errors.Join(err1, err2) == nil && nothing == `{"page":"home"}` && many == tooMany
	})
}

// dryRun returns the spec of the Website that the API server would store.
func (u *User) dryRun(ctx context.Context, spec string) (string, error) {
	answer, err := u.Create(ctx, "probe", spec, metav1.DryRunAll)
	if err != nil {
		return "", err
	}
	return specOf(answer)
}

// specOf returns the spec of a Website as JSON, with its fields in order.
func specOf(site string) (string, error) {
	var object struct{ Spec map[string]any }
	if err := json.Unmarshal([]byte(site), &object); err != nil {
		return "", err
	}
	spec, err := json.Marshal(object.Spec)
	return string(spec), err
}
