// Package unit has the unit tests of the controller of Websites, on a fake client. They are functions, so
// that a program can run them, too.
package unit

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/chapters/19-testing/fake"
	"github.com/loopwright/loopwright/chapters/19-testing/website"
	"github.com/loopwright/loopwright/chapters/example"
	"github.com/loopwright/loopwright/mini"
)

// Test is a unit test of a way to publish.
type Test struct {
	Name string
	Run  func(website.Publish) error
}

// Tests are all of them.
var Tests = []Test{
	{"it makes the Pods that are missing", makesPods},
	{"it opens one page, and visitors see it", opensOnePage},
	{"a change of the page is published", publishesAChange},
	{"an update that fails leaves no page behind, and is tried again", survivesAFailure},
}

var shop = mini.Request{Namespace: "web", Name: "shop"}

// world is what a test has: a fake client with a Website and its page, and a CDN.
type world struct {
	*fake.Client
	cdn *website.CDN
	r   *website.Reconciler
}

func newWorld(publish website.Publish) *world {
	meta := metav1.ObjectMeta{Namespace: shop.Namespace, Name: shop.Name, UID: "1"}
	client := fake.NewClient(
		&example.Website{ObjectMeta: meta, Spec: example.WebsiteSpec{Page: "home", Replicas: new(int32(2))}},
		page("Hello!"),
	)
	cdn := website.NewCDN()
	r := &website.Reconciler{Client: client, CDN: cdn, Publish: publish}
	return &world{client, cdn, r}
}

func page(text string) *corev1.ConfigMap {
	meta := metav1.ObjectMeta{Namespace: shop.Namespace, Name: "home"}
	return &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"index.html": text}}
}

func (w *world) reconcile(times int) error {
	for range times {
		if _, err := w.r.Reconcile(context.Background(), shop); err != nil {
			return err
		}
	}
	return nil
}

// see returns an error unless visitors see the text, and one page is open.
func (w *world) see(text string) error {
	site, err := mini.Get[*example.Website](context.Background(), w.Client, shop)
	if got := w.cdn.Shows(site.Annotations[website.PageID]); err == nil && got != text {
		err = fmt.Errorf("visitors see %q, want %q", got, text)
	}
	if n := w.cdn.Count(); err == nil && n != 1 {
		err = fmt.Errorf("%d pages are open, want 1", n)
	}
	return err
}

func makesPods(publish website.Publish) error {
	w := newWorld(publish)
	if err := w.reconcile(2); err != nil {
		return err
	}
	pods, err := mini.List[*corev1.Pod](context.Background(), w.Client, mini.Selection{})
	if err == nil && len(pods) != 2 {
		err = fmt.Errorf("there are %d Pods, want 2", len(pods))
	}
	return err
}

func opensOnePage(publish website.Publish) error {
	w := newWorld(publish)
	return errors.Join(w.reconcile(2), w.see("Hello!"))
}

func publishesAChange(publish website.Publish) error {
	w := newWorld(publish)
	err := w.reconcile(1)
	return errors.Join(err, w.Update(context.Background(), page("Sale!")), w.reconcile(1), w.see("Sale!"))
}

func survivesAFailure(publish website.Publish) error {
	w := newWorld(publish)
	w.FailUpdate = errors.New("the API server is down")
	if err := w.reconcile(1); err == nil {
		return errors.New("the failed update was not reported, so nobody tries again")
	}
	return errors.Join(w.reconcile(1), w.see("Hello!"))
}
