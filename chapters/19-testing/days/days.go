// Package days plays days in the life of the controller of Websites: a whole manager, with an API server
// in memory, a kubelet and users.
package days

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/chapters/19-testing/website"
	"github.com/loopwright/loopwright/chapters/example"
	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/mini"
)

// Day returns the day of a controller that publishes like this. An error is the end of it, too.
func Day(in Bubble, publish website.Publish) mini.Day {
	return func(faults *mini.Faults) (end string) {
		in(func() {
			var err error
			if end, err = play(faults, publish); err != nil {
				end = err.Error()
			}
		})
		return end
	}
}

func play(faults *mini.Faults, publish website.Publish) (end string, err error) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	server := fakeapi.New(fakeapi.Options{
		AnyNamespace: true, NoManagedFields: true, WatchTimeout: 10_000 * time.Hour,
	})
	defer server.Close()
	example.InMemory(ctx, server)
	calm, disturbed := server.Config(), server.Config()
	disturbed.Wrap(faults.Wrap)
	ofUsers, err1 := mini.NewCluster(calm, example.NewScheme())
	cluster, err2 := mini.NewCluster(disturbed, example.NewScheme())
	if err := errors.Join(err1, err2); err != nil {
		return "", err
	}
	m, cdn := mini.NewManager(cluster), website.NewCDN()
	if err := website.Add(m, cdn, publish, "server:1"); err != nil {
		return "", err
	}
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	users := &users{&mini.Client{Cluster: ofUsers}}
	if err = users.act(ctx); err == nil {
		end, err = users.see(ctx, cdn)
	}
	stop()
	return end, errors.Join(err, <-ended)
}

// users are those of the cluster. Their requests go well.
type users struct{ *mini.Client }

// act is what users do in a day.
func (u *users) act(ctx context.Context) error {
	home := &corev1.ConfigMap{ObjectMeta: named("home"), Data: map[string]string{"index.html": "Hello!"}}
	shop := &example.Website{ObjectMeta: named("shop"), Spec: example.WebsiteSpec{Page: "home", Replicas: new(int32(2))}}
	news := &example.Website{ObjectMeta: named("news"), Spec: example.WebsiteSpec{Page: "home", Replicas: new(int32(1))}}
	for _, step := range []func() error{
		func() error { return errors.Join(u.Create(ctx, home), u.Create(ctx, shop), u.Create(ctx, news)) },
		func() error { return u.patch(ctx, shop, `{"spec":{"replicas":3}}`) },
		func() error { return u.patch(ctx, home, `{"data":{"index.html":"Sale!"}}`) },
		func() error { return u.Delete(ctx, news, metav1.DeleteOptions{}) },
	} {
		if err := step(); err != nil {
			return err
		}
		time.Sleep(time.Hour)
	}
	return nil
}

// Namespace is where the Websites are.
const Namespace = "web"

func named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: Namespace, Name: name}
}

func (u *users) patch(ctx context.Context, obj mini.Object, patch string) error {
	return u.Patch(ctx, obj, types.MergePatchType, []byte(patch))
}

// see returns what there is in the end.
func (u *users) see(ctx context.Context, cdn *website.CDN) (string, error) {
	var out strings.Builder
	sites, err := mini.List[*example.Website](ctx, u, mini.Selection{})
	for _, site := range sites {
		_, _ = fmt.Fprintf(&out, "%s: %d Pods, visitors see %q; ",
			site.Name, site.Status.Ready, cdn.Shows(site.Annotations[website.PageID]))
	}
	_, _ = fmt.Fprintf(&out, "pages: %d", cdn.Count())
	return out.String(), err
}
