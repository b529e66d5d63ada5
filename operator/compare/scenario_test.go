package compare

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// scenario is one run of the operator: two replicas, of which one leads.
type scenario struct {
	t         *testing.T
	install   *installation
	namespace string
	desk      *desk
	fleet     *fleet
	record    *record
	metrics   map[string]bool

	leader, standby *replica
	holder          string // who has the lease
}

// play is the whole story. Each step ends when what it waits for is there.
func (s *scenario) play(ctx context.Context) {
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"start", s.start},
		{"create, and the leader is killed halfway", s.create},
		{"refusals", s.refusals},
		{"change", s.change},
		{"break and repair pages", s.breakPages},
		{"break and repair the registration", s.breakRegistration},
		{"hand over", s.handOver},
		{"delete, and the leader is killed halfway", s.remove},
		{"end", s.end},
	} {
		began := time.Now()
		err := step.do(ctx)
		s.t.Logf("%s: %s", step.name, time.Since(began).Round(100*time.Millisecond))
		if err != nil {
			for _, r := range s.fleet.all {
				s.t.Logf("%s:\n%s", r.name, r.output())
			}
		}
		require.NoError(s.t, err, step.name)
	}
}

func (s *scenario) start(ctx context.Context) (err error) {
	if s.leader, err = s.fleet.start(ctx); err != nil {
		return err
	}
	if err := s.leads(ctx); err != nil {
		return err
	}
	if s.standby, err = s.fleet.start(ctx); err != nil {
		return err
	}
	if _, err := s.client(secrets).Create(ctx, secret(s.namespace, token), metav1.CreateOptions{}); err != nil {
		return err
	}
	// The API server learns of webhooks when it does.
	return poll(ctx, "the webhooks to be called", func() error {
		tried, err := s.client(sites).Create(ctx, site(s.namespace, "try", "try.example.com"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil {
			return err
		}
		if theme, _, _ := unstructured.NestedString(tried.Object, "spec", "theme"); theme == "" {
			return errors.New("there are no defaults")
		}
		if _, err := s.client(sites).Create(ctx, site(s.namespace, "try", "no host"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err == nil {
			return errors.New("everything is valid")
		}
		return nil
	})
}

// create has the first leader killed between the pages and the registration.
func (s *scenario) create(ctx context.Context) error {
	arrived, release := s.desk.hold("PUT")
	defer release()
	shop := oldSite(s.namespace, "shop", "shop.example.com", map[string]any{"home": "Welcome", "about": "We sell."})
	if err := s.make(ctx, oldSites, shop); err != nil {
		return err
	}
	if err := arrived(ctx); err != nil {
		return err
	}
	if err := s.happened(ctx, "PageWritten", "shop", "Page about is created", "Page home is created"); err != nil {
		return err
	}
	if err := s.kill(ctx, release); err != nil {
		return err
	}
	blog := site(s.namespace, "blog", "blog.example.com", "second", "More", "first", "Hello")
	blog.SetAnnotations(map[string]string{"web.example.com/protected": "true"})
	if err := s.make(ctx, sites, blog); err != nil {
		return err
	}
	return s.settled(ctx, "created", "shop", "blog")
}

// refusals are what the webhooks do not allow, in the words that a user sees.
func (s *scenario) refusals(ctx context.Context) error {
	var lines []string
	refused := func(what string, try func() error) error {
		return s.write(ctx, what+" to be refused", func() error {
			err := try()
			if err == nil {
				return fatal{errors.New("it is allowed")}
			}
			if strings.Contains(err.Error(), "failed calling webhook") {
				return err
			}
			lines = append(lines, s.mask(fmt.Sprintf("%s: %s: %v", what, apierrors.ReasonForError(err), err)))
			return nil
		})
	}
	err := errors.Join(
		refused("a wrong host", func() error { return s.patch(ctx, sites, "shop", `{"spec":{"host":"no host"}}`) }),
		refused("a page without a body, in the old version", func() error {
			return s.patch(ctx, oldSites, "shop", `{"spec":{"content":{"empty":" "}}}`)
		}),
		refused("a page twice", func() error {
			_, err := s.client(sites).Create(ctx, site(s.namespace, "twice", "twice.example.com", "a", "1", "a", "2"), metav1.CreateOptions{})
			return err
		}),
		refused("the end of a protected site", func() error { return s.client(sites).Delete(ctx, "blog", metav1.DeleteOptions{}) }),
	)
	s.record.add("refusals", lines...)
	return err
}

func (s *scenario) change(ctx context.Context) error {
	if err := errors.Join(
		s.patch(ctx, oldSites, "shop", `{"spec":{"content":{"about":null,"prices":"Cheap"},"theme":"dark"}}`),
		s.patch(ctx, sites, "blog", `{"spec":{"host":"news.example.com"}}`),
	); err != nil {
		return err
	}
	if err := s.settled(ctx, "changed", "shop", "blog"); err != nil {
		return err
	}
	return errors.Join(
		s.happened(ctx, "PageRemoved", "shop", "ConfigMap shop-about is removed"),
		s.happened(ctx, "PageWritten", "shop", "Page prices is created", "Page home is updated"),
		s.happened(ctx, "Unregistered", "blog", "Host blog.example.com is given back"),
		s.happened(ctx, "Registered", "blog", "Host news.example.com is registered"),
	)
}

func (s *scenario) breakPages(ctx context.Context) error {
	before, err := s.client(configMaps).Get(ctx, "blog-first", metav1.GetOptions{})
	if err != nil {
		return err
	}
	if err := errors.Join(
		s.client(configMaps).Delete(ctx, "blog-first", metav1.DeleteOptions{}),
		s.patch(ctx, configMaps, "shop-home", `{"data":{"page.html":"somebody was here"}}`),
		s.patch(ctx, configMaps, "blog-second", `{"metadata":{"labels":null,"ownerReferences":null}}`),
	); err != nil {
		return err
	}
	if err := poll(ctx, "the pages to be repaired", func() error {
		first, err := s.client(configMaps).Get(ctx, "blog-first", metav1.GetOptions{})
		if err != nil {
			return err
		}
		home, err := s.client(configMaps).Get(ctx, "shop-home", metav1.GetOptions{})
		if err != nil {
			return err
		}
		second, err := s.client(configMaps).Get(ctx, "blog-second", metav1.GetOptions{})
		if err != nil {
			return err
		}
		page, _, _ := unstructured.NestedString(home.Object, "data", "page.html")
		if first.GetUID() == before.GetUID() || page == "somebody was here" || len(second.GetOwnerReferences()) == 0 {
			return errors.New("something is still broken")
		}
		return nil
	}); err != nil {
		return err
	}
	return s.settled(ctx, "pages repaired", "shop", "blog")
}

func (s *scenario) client(resource schema.GroupVersionResource) dynamic.ResourceInterface {
	return s.install.client.Resource(resource).Namespace(s.namespace)
}

// write tries again while there is no replica that answers the webhook.
func (s *scenario) write(ctx context.Context, what string, do func() error) error {
	return poll(ctx, what, func() error {
		err := do()
		if err != nil && apierrors.IsInvalid(err) {
			return fatal{err}
		}
		return err
	})
}

func (s *scenario) make(ctx context.Context, resource schema.GroupVersionResource, object *unstructured.Unstructured) error {
	return s.write(ctx, object.GetName()+" to be made", func() error {
		_, err := s.client(resource).Create(ctx, object, metav1.CreateOptions{FieldManager: "scenario"})
		return err
	})
}

func (s *scenario) patch(ctx context.Context, resource schema.GroupVersionResource, name, patch string) error {
	_, err := s.client(resource).Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "scenario"})
	return err
}

func (s *scenario) end(ctx context.Context) error {
	lines, err := s.events(ctx)
	if err != nil {
		return err
	}
	s.record.add("events", lines...)
	s.record.add("calls of the registrar", s.masked(s.desk.asked())...)
	s.record.add("metrics", slices.Sorted(maps.Keys(s.metrics))...)
	return errors.Join(s.ends(ctx, s.standby), s.ends(ctx, s.leader))
}
