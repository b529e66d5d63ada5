// Package stage has the controller of Websites on the demo's cluster, and a user who opens Websites.
package stage

import (
	"context"
	"errors"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/transport"

	"github.com/loopwright/loopwright/chapters/19-testing/website"
	"github.com/loopwright/loopwright/chapters/example"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

// Stage is a cluster on which the controller runs.
type Stage struct {
	*demo.Demo
	sites example.Websites
	cdn   *website.CDN
}

// With runs f while the controller runs. Its requests go through wrap.
func With(
	ctx context.Context, d *demo.Demo, publish website.Publish, wrap transport.WrapperFunc, f func(*Stage) error,
) error {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // reconciles that fail
	return example.With(ctx, d, func(sites example.Websites) error {
		s := &Stage{Demo: d, sites: sites, cdn: website.NewCDN()}
		s.cdn.Say = d.Say
		config := d.Config()
		config.Wrap(wrap)
		cluster, err := mini.NewCluster(config, example.NewScheme())
		if err != nil {
			return err
		}
		cluster.Trace = d.Hidden()
		m := mini.NewManager(cluster)
		if err := website.Add(m, s.cdn, publish, d.Image); err != nil {
			return err
		}
		page := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: "home"}, Data: map[string]string{"index.html": "Hello!"},
		}
		_, err = d.Client.CoreV1().ConfigMaps(d.Namespace).Create(ctx, page, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		working, stop := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() { ended <- m.Run(working) }()
		err = f(s)
		stop()
		return errors.Join(err, <-ended, s.release(context.WithoutCancel(ctx)))
	})
}

// Open creates a Website, and says what its visitors see when the controller has been quiet for a while.
func (s *Stage) Open(ctx context.Context, name string) error {
	err := s.sites.Create(ctx, &example.Website{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name},
		Spec:       example.WebsiteSpec{Page: "home", Replicas: new(int32(2))},
	})
	for err == nil {
		site, err := s.sites.Get(ctx, s.Namespace, name)
		if err != nil {
			return err
		}
		id := site.Annotations[website.PageID]
		if id == "" || site.Status.Ready < 2 {
			demo.Sleep(ctx, 100*time.Millisecond)
			continue
		}
		demo.Sleep(ctx, 5*time.Second) // many times as long as it needs
		s.Say("%s has %d Pods, and says that its page is %s.", name, site.Status.Ready, id)
		s.Say("Visitors see %q.", s.cdn.Shows(id))
		return ctx.Err()
	}
	return err
}

// release lets the Websites go: their finalizers would block the deletion of the namespace.
func (s *Stage) release(ctx context.Context) error {
	all, err := s.sites.List(ctx, s.Namespace)
	for _, site := range all {
		err = errors.Join(err, s.sites.Patch(ctx, s.Namespace, site.Name, `{"metadata":{"finalizers":null}}`))
	}
	return err
}
