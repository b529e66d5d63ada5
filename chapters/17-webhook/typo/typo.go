// Package typo is what both programs of the chapter do: a user wants three Pods for a Website,
// and types 30. The user of chapter 18 works the same way.
package typo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/loopwright/loopwright/chapters/example"
	"github.com/loopwright/loopwright/chapters/example/website"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
	"github.com/loopwright/loopwright/trace"
)

// Limit is how many Pods a Website may have.
const Limit = 5

// Replicas returns how many Pods a Website wants; 0 if it does not say.
func Replicas(site *example.Website) int32 {
	if site == nil || site.Spec.Replicas == nil {
		return 0
	}
	return *site.Spec.Replicas
}

// Check refuses a Website that wants too many Pods, unless it wanted as many before.
func Check(_ context.Context, old, site *example.Website) error {
	if old != nil && Replicas(site) <= Replicas(old) {
		return nil
	}
	return AtMostLimit(Replicas(site))
}

// AtMostLimit refuses a number that's above the limit.
func AtMostLimit(replicas int32) error {
	if replicas > Limit {
		return fmt.Errorf("want at most %d replicas, got %d", Limit, replicas)
	}
	return nil
}

// Run is the main function of the process with the controller of Websites. It works until ctx ends.
type Run func(ctx context.Context, p website.Process) error

// User is a user with kubectl. The controller acts on what the user writes.
type User struct {
	*demo.Demo
	Client kubernetes.Interface // without client-go's limit of 5 requests a second
	Sites  example.Websites

	created atomic.Int64 // Pods
	stop    func() error
}

// Story plays the acts of a user while a process runs, of which prepare returns the main function.
func Story(
	prepare func(*User) (Run, error), act func(context.Context, *User) error,
) func(context.Context, *demo.Demo) error {
	return func(ctx context.Context, d *demo.Demo) error {
		slog.SetDefault(slog.New(slog.DiscardHandler)) // conflicts are retried
		d.Show(func(trace.Event) bool { return false })
		return example.With(ctx, d, func(sites example.Websites) error {
			u := &User{Demo: d, Sites: sites}
			if err := u.start(ctx, prepare); err != nil {
				return err
			}
			page := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "home"}}
			pages := u.Client.CoreV1().ConfigMaps(u.Namespace)
			_, err := pages.Create(ctx, page, metav1.CreateOptions{})
			if err == nil {
				err = act(ctx, u)
			}
			if err == nil {
				u.Linger("websites")
			}
			return errors.Join(err, u.Stop(), u.release(context.WithoutCancel(ctx)))
		})
	}
}

// start starts the process, and counts the Pods that are created.
func (u *User) start(ctx context.Context, prepare func(*User) (Run, error)) error {
	config := u.Config()
	config.QPS = -1
	client, err1 := kubernetes.NewForConfig(config)
	p, err2 := website.NewProcess(u.Demo, website.NewCDN(u.Say), "a")
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	u.Client = client
	source, err := p.Cluster.ListWatch(&corev1.Pod{}, u.Namespace)
	if err != nil {
		return err
	}
	run, err := prepare(u)
	if err != nil {
		return err
	}
	pods := mini.NewSharedInformer(source, nil)
	pods.AddHandler(func(change mini.Change) {
		if change.Old == nil {
			u.created.Add(1)
		}
	})
	ctx, stop := context.WithCancel(ctx)
	counted, ended := make(chan error, 1), make(chan error, 1)
	go func() { counted <- pods.Run(ctx) }()
	go func() { ended <- run(ctx, p) }()
	u.stop = func() error {
		stop()
		return errors.Join(<-ended, <-counted)
	}
	return nil
}

// release removes the finalizers: no process is left that could clean up, and nothing to clean up.
func (u *User) release(ctx context.Context) error {
	all, err := u.Sites.List(ctx, u.Namespace)
	for _, site := range all {
		err = errors.Join(err,
			u.Sites.Patch(ctx, u.Namespace, site.Name, `{"metadata":{"finalizers":null}}`))
	}
	return err
}

// Stop stops the process, once.
func (u *User) Stop() error {
	stop := u.stop
	u.stop = func() error { return nil }
	return stop()
}

// Apply is kubectl apply: it writes what differs from the file, and says so. A file that has no
// replicas leaves them alone.
func (u *User) Apply(ctx context.Context, name string, replicas *int32) error {
	site, err := u.Sites.Get(ctx, u.Namespace, name)
	done := "configured"
	switch {
	case apierrors.IsNotFound(err):
		done = "created"
		err = u.Sites.Create(ctx, &example.Website{
			ObjectMeta: metav1.ObjectMeta{Namespace: u.Namespace, Name: name},
			Spec:       example.WebsiteSpec{Page: "home", Replicas: replicas},
		})
	case err != nil:
	case replicas == nil || *replicas == Replicas(site):
		done = "unchanged"
	default:
		patch := fmt.Sprintf(`{"spec":{"replicas":%d}}`, *replicas)
		err = u.Sites.Patch(ctx, u.Namespace, name, patch)
	}
	return u.Answer("website/"+name+" "+done, err)
}

// Create creates a Website with a spec in JSON, which may have fields that the Go type doesn't know. It returns what the
// API server stores, or would store: with metav1.DryRunAll it only asks.
func (u *User) Create(ctx context.Context, name, spec string, dryRun ...string) (string, error) {
	request := u.Client.CoreV1().RESTClient().Post().
		AbsPath("/apis/web.example.com/v1/namespaces", u.Namespace, "websites").
		SetHeader("Content-Type", "application/json").
		Body([]byte(`{"apiVersion":"web.example.com/v1","kind":"Website",` +
			`"metadata":{"name":"` + name + `"},"spec":` + spec + `}`))
	for _, what := range dryRun {
		request.Param("dryRun", what)
	}
	stored, err := request.DoRaw(ctx)
	return string(stored), err
}

// Answer prints what kubectl prints. That the API server refuses is part of the story.
func (u *User) Answer(done string, err error) error {
	if reason := apierrors.ReasonForError(err); err != nil && reason != metav1.StatusReasonUnknown {
		u.Say("kubectl: Error from server (%s):", reason)
		for part := range strings.SplitAfterSeq(err.Error(), `": `) { // it is long
			u.Say("  %s", strings.TrimSpace(part))
		}
		return nil
	}
	if err == nil {
		u.Say("kubectl: %s", done)
	}
	return err
}

// Show says what there is when the controllers have come to rest: that many Pods were created, and
// there are as many as the Website asks for. It does not wait for longer than half a minute.
func (u *User) Show(ctx context.Context, name string, created int64) error {
	began := time.Now()
	for {
		site, err := u.Sites.Get(ctx, u.Namespace, name)
		if err != nil {
			return err
		}
		pods, err := u.Client.CoreV1().Pods(u.Namespace).List(ctx, metav1.ListOptions{
			LabelSelector: example.Label + "=" + name,
		})
		if err != nil {
			return err
		}
		stored, there := int(Replicas(site)), len(pods.Items)
		atRest := u.created.Load() >= created && there == stored && stored <= Limit
		if atRest || time.Since(began) > 30*time.Second {
			u.Say("Stored replicas: %d. Pods: %d. Pods created so far: %d.",
				stored, there, u.created.Load())
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
}
