package theme

import (
	"context"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Website is all that the web team's webhook knows of one.
type Website struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		Theme string `json:"theme,omitempty"`
	} `json:"spec"`
}

// DeepCopyObject is for mini.Object. Default never copies one.
func (w *Website) DeepCopyObject() runtime.Object {
	c := *w
	w.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	return &c
}

// Light is the web team's default.
func Light(_ context.Context, site *Website) error {
	if site.Spec.Theme == "" {
		site.Spec.Theme = "light"
	}
	return nil
}

// AskWebTeam has the API server ask the web team's webhook, too, after ours.
func (u *User) AskWebTeam(ctx context.Context) error {
	u.Mutate("theme", "web.example.com", "websites")
	if err := u.Write(ctx); err != nil {
		return err
	}
	return u.Until(ctx, "the default of the theme", func() bool {
		stored, err := u.dryRun(ctx, `{"page":"home"}`)
		return err == nil && strings.Contains(stored, `"light"`)
	})
}

// AskAgain has the API server ask ours again if a later webhook has changed the object. It waits until ours is called
// twice for one request.
func (u *User) AskAgain(ctx context.Context, calls func() int64) error {
	u.Mutating.Webhooks[0].ReinvocationPolicy = new(admissionregistrationv1.IfNeededReinvocationPolicy)
	if err := u.Write(ctx); err != nil {
		return err
	}
	return u.Until(ctx, "the reinvocation policy", func() bool {
		before := calls()
		_, err := u.dryRun(ctx, `{"page":"home"}`)
		return err == nil && calls()-before == 2
	})
}
