package theme

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/chapters/example"
)

// Apply is kubectl apply of a file with a spec: it writes the fields of the file that differ, and says so.
func (u *User) Apply(ctx context.Context, name string, file map[string]any) error {
	stored, err := u.get(ctx, name)
	if apierrors.IsNotFound(err) {
		spec, _ := json.Marshal(file)
		_, err := u.Create(ctx, name, string(spec))
		return u.Answer("website/"+name+" created", err)
	}
	if err != nil {
		return err
	}
	differs := map[string]any{}
	for field, want := range file {
		if stored[field] != want {
			differs[field] = want
		}
	}
	if len(differs) == 0 {
		return u.Answer("website/"+name+" unchanged", nil)
	}
	patch, _ := json.Marshal(map[string]any{"spec": differs})
	err = u.Sites.Patch(ctx, u.Namespace, name, string(patch))
	return u.Answer("website/"+name+" configured", err)
}

// Label is kubectl label.
func (u *User) Label(ctx context.Context, name, key, value string) error {
	patch := `{"metadata":{"labels":{"` + key + `":"` + value + `"}}}`
	return u.Answer("website/"+name+" labeled", u.Sites.Patch(ctx, u.Namespace, name, patch))
}

// Delete is kubectl delete --wait=false.
func (u *User) Delete(ctx context.Context, name string) error {
	return u.Answer(`website "`+name+`" deleted`, u.Sites.Delete(ctx, u.Namespace, name))
}

// Release takes the finalizers out by hand: what a user tries if an object doesn't go.
func (u *User) Release(ctx context.Context, name string) error {
	err := u.Sites.Patch(ctx, u.Namespace, name, `{"metadata":{"finalizers":null}}`)
	return u.Answer("website/"+name+" patched", err)
}

// WouldCreate is kubectl create --dry-run=server, which prints what would be stored.
func (u *User) WouldCreate(ctx context.Context, name, spec string) error {
	stored, err := u.Create(ctx, name, spec, metav1.DryRunAll)
	if err != nil {
		return u.Answer("", err)
	}
	spec, err = specOf(stored)
	u.Say("kubectl: website/%s created (server dry run)", name)
	u.Say("It would store %s.", spec)
	return err
}

// Show says what there is when the Website wants this number of Pods, and has them. It doesn't wait for longer than two
// minutes.
func (u *User) Show(ctx context.Context, name string, pods int) error {
	began := time.Now()
	for {
		stored, err := u.get(ctx, name)
		if err != nil {
			return err
		}
		found, err := u.Client.CoreV1().Pods(u.Namespace).List(ctx, metav1.ListOptions{
			LabelSelector: example.Label + "=" + name,
		})
		if err != nil {
			return err
		}
		atRest := len(found.Items) == pods && stored["replicas"] == float64(pods)
		if atRest || time.Since(began) > 2*time.Minute {
			spec, err := json.Marshal(stored)
			u.Say("Stored: %s. Pods: %d.", spec, len(found.Items))
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// ShowEnd says so when the Website is gone. It doesn't wait for longer than two minutes.
func (u *User) ShowEnd(ctx context.Context, name string) error {
	began := time.Now()
	for {
		_, err := u.get(ctx, name)
		switch {
		case apierrors.IsNotFound(err):
			u.Say("%s is gone.", name)
			return nil
		case err != nil:
			return err
		case time.Since(began) > 2*time.Minute:
			return errors.New(name + " is still there after two minutes")
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// get returns the spec of a Website, with fields that the Go type doesn't know.
func (u *User) get(ctx context.Context, name string) (spec map[string]any, err error) {
	answer, err := u.Client.CoreV1().RESTClient().Get().
		AbsPath("/apis/web.example.com/v1/namespaces", u.Namespace, "websites", name).DoRaw(ctx)
	if err != nil {
		return nil, err
	}
	var site struct{ Spec map[string]any }
	err = json.Unmarshal(answer, &site)
	return site.Spec, err
}
