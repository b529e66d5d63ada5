package compare

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// breakRegistration takes the token away, gives a wrong one, and then has the registrar fail.
func (s *scenario) breakRegistration(ctx context.Context) error {
	if err := s.client(secrets).Delete(ctx, "registrar", metav1.DeleteOptions{}); err != nil {
		return err
	}
	if err := s.stuck(ctx, "TokenMissing", "Secret registrar has no token", "shop", "blog"); err != nil {
		return err
	}
	if _, err := s.client(secrets).Create(ctx, secret(s.namespace, "wrong"), metav1.CreateOptions{}); err != nil {
		return err
	}
	if err := s.stuck(ctx, "Refused", "The registrar does not accept the token", "shop", "blog"); err != nil {
		return err
	}
	if err := s.patch(ctx, secrets, "registrar", `{"stringData":{"token":"`+token+`"}}`); err != nil {
		return err
	}
	if err := s.settled(ctx, "token repaired", "shop", "blog"); err != nil {
		return err
	}
	s.desk.setDown(true)
	if err := s.write(ctx, "another host", func() error { return s.patch(ctx, sites, "shop", `{"spec":{"host":"store.example.com"}}`) }); err != nil {
		return err
	}
	if err := s.stuck(ctx, "Unavailable", "The registrar cannot be reached, or fails", "shop"); err != nil {
		return err
	}
	s.desk.setDown(false)
	if err := s.settled(ctx, "registrar repaired", "shop", "blog"); err != nil {
		return err
	}
	return s.happened(ctx, "Registered", "shop", "Host store.example.com is registered")
}

// handOver ends the leader in good order, while there is work: the other one goes on at once.
func (s *scenario) handOver(ctx context.Context) error {
	if err := s.ends(ctx, s.leader); err != nil {
		return err
	}
	if err := s.takeOver(ctx); err != nil {
		return err
	}
	if err := s.write(ctx, "another page", func() error { return s.patch(ctx, oldSites, "shop", `{"spec":{"content":{"jobs":"None"}}}`) }); err != nil {
		return err
	}
	return s.settled(ctx, "handed over", "shop", "blog")
}

// remove has the leader killed while it gives the host back.
func (s *scenario) remove(ctx context.Context) error {
	arrived, release := s.desk.hold("DELETE")
	defer release()
	if err := s.write(ctx, "shop to be deleted", func() error { return s.client(sites).Delete(ctx, "shop", metav1.DeleteOptions{}) }); err != nil {
		return err
	}
	if err := arrived(ctx); err != nil {
		return err
	}
	if err := s.remember(ctx, "on the way out"); err != nil {
		return err
	}
	if err := s.kill(ctx, release); err != nil {
		return err
	}
	if err := s.write(ctx, "blog to be deleted", func() error {
		return errors.Join(s.patch(ctx, sites, "blog", `{"metadata":{"annotations":null}}`), s.client(sites).Delete(ctx, "blog", metav1.DeleteOptions{}))
	}); err != nil {
		return err
	}
	if err := poll(ctx, "sites and pages to be gone", func() error {
		for _, name := range []string{"shop", "blog"} {
			if _, err := s.client(sites).Get(ctx, name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				return fmt.Errorf("site %s is still there (%w)", name, err)
			}
		}
		pages, err := s.client(configMaps).List(ctx, metav1.ListOptions{LabelSelector: "web.example.com/site"})
		if err == nil && len(pages.Items) > 0 {
			err = fmt.Errorf("%d pages are still there", len(pages.Items))
		}
		return err
	}); err != nil {
		return err
	}
	if err := errors.Join(
		s.happened(ctx, "Unregistered", "shop", "Host store.example.com is given back"),
		s.happened(ctx, "Unregistered", "blog", "Host news.example.com is given back"),
	); err != nil {
		return err
	}
	return s.remember(ctx, "removed")
}

// leads waits until somebody else than before has the lease.
func (s *scenario) leads(ctx context.Context) error {
	return poll(ctx, "a new leader", func() error {
		lease, err := s.client(leases).Get(ctx, "site-operator.web.example.com", metav1.GetOptions{})
		if err != nil {
			return err
		}
		now, _, _ := unstructured.NestedString(lease.Object, "spec", "holderIdentity")
		if now == "" || now == s.holder {
			return fmt.Errorf("%q has the lease", now)
		}
		s.holder = now
		return nil
	})
}

// takeOver makes the standby the leader, and starts another standby.
func (s *scenario) takeOver(ctx context.Context) (err error) {
	s.leader = s.standby
	if err := s.leads(ctx); err != nil {
		return err
	}
	s.standby, err = s.fleet.start(ctx)
	return err
}

// kill ends the leader as kill -9 does, in the middle of what the registrar holds.
func (s *scenario) kill(ctx context.Context, release func()) error {
	s.fleet.front.remove(s.leader.webhook)
	if err := s.leader.kill(); err != nil {
		return err
	}
	release()
	return s.takeOver(ctx)
}

// ends ends a replica in good order.
func (s *scenario) ends(ctx context.Context, r *replica) error {
	s.fleet.front.remove(r.webhook)
	if err := r.stop(ctx); err != nil {
		return fmt.Errorf("%s was asked to end: %w", r.name, err)
	}
	return nil
}

// settled waits until sites are ready, and writes down how everything is.
func (s *scenario) settled(ctx context.Context, title string, names ...string) error {
	for _, name := range names {
		if err := s.condition(ctx, name, "Ready", "Ready"); err != nil {
			return err
		}
	}
	return s.remember(ctx, title)
}

// stuck waits until sites are not registered for a reason, and writes down how everything is.
func (s *scenario) stuck(ctx context.Context, reason, note string, names ...string) error {
	for _, name := range names {
		if err := errors.Join(s.condition(ctx, name, "Registered", reason), s.happened(ctx, reason, name, note)); err != nil {
			return err
		}
	}
	return s.remember(ctx, reason)
}

func (s *scenario) condition(ctx context.Context, name, condition, reason string) error {
	return poll(ctx, fmt.Sprintf("%s: %s because of %s", name, condition, reason), func() error {
		object, err := s.client(sites).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		var status struct {
			Status struct {
				ObservedGeneration int64              `json:"observedGeneration"`
				Conditions         []metav1.Condition `json:"conditions"`
			} `json:"status"`
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &status); err != nil {
			return err
		}
		found := meta.FindStatusCondition(status.Status.Conditions, condition)
		if status.Status.ObservedGeneration != object.GetGeneration() || found == nil || found.Reason != reason {
			return fmt.Errorf("generation %d, status %+v", object.GetGeneration(), status.Status)
		}
		return nil
	})
}

// happened waits until there are events. They are sent in the background, so a replica that is killed may take
// some with it that nobody has waited for.
func (s *scenario) happened(ctx context.Context, reason, name string, notes ...string) error {
	return poll(ctx, fmt.Sprintf("events %s of %s", reason, name), func() error {
		list, err := s.client(eventsV1).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, note := range notes {
			if !slices.ContainsFunc(list.Items, func(event unstructured.Unstructured) bool {
				regarding, _, _ := unstructured.NestedString(event.Object, "regarding", "name")
				return event.Object["reason"] == reason && event.Object["note"] == note && regarding == name
			}) {
				return fmt.Errorf("there is no event with the note %q", note)
			}
		}
		return nil
	})
}
