package exposing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/chapters/example"
	"github.com/loopwright/loopwright/chapters/example/website"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

// Run is the main function of the Website controller. It works until ctx ends.
type Run func(ctx context.Context, p website.Process) error

// Story is about two controllers and a Service. If there are users, one of them wants something of the
// Service, too.
func Story(run Run, users bool) func(context.Context, *demo.Demo) error {
	return func(ctx context.Context, d *demo.Demo) error {
		slog.SetDefault(slog.New(slog.DiscardHandler)) // conflicts of updates are retried
		d.Hidden()                                     // the states of the Service tell all
		return example.With(ctx, d, func(sites example.Websites) error {
			s := &story{Demo: d, sites: sites, run: run, stops: map[string]func() error{}}
			defer s.end(context.WithoutCancel(ctx))
			steps := []step{
				{"what's stored of the Service's ports, one state after the other?",
					"1. shop gets a Service. Another team's controller adds a port", s.open},
				{"does the Service have the domain at the end?",
					"2. The page names a domain, and then it doesn't", s.rename},
			}
			if users {
				steps = append(steps,
					step{"what does she get?", "3. A user, ada, applies another target port", s.want},
					step{"which target port is there at the end?", "4. ada forces it", s.force})
			}
			for _, step := range steps {
				d.Ask(step.ask)
				err := d.Step(step.title, func() error { return step.play(ctx) })
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
}

type step struct {
	ask, title string
	play       func(context.Context) error
}

type story struct {
	*demo.Demo
	sites   example.Websites
	run     Run
	cluster *mini.Cluster
	states  watch.Interface // of the Service
	shown   string          // the state that was printed last
	stops   map[string]func() error
}

func (s *story) open(ctx context.Context) error {
	page := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "home"},
		Data:       map[string]string{"index.html": "Hello!"},
	}
	_, err1 := s.Client.CoreV1().ConfigMaps(s.Namespace).Create(ctx, page, metav1.CreateOptions{})
	err2 := s.sites.Create(ctx, &example.Website{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "shop"},
		Spec:       example.WebsiteSpec{Page: "home", Replicas: new(int32(1))},
	})
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	if err := s.startBoth(ctx); err != nil {
		return err
	}
	if err := s.until(ctx, "metrics"); err != nil {
		return err
	}
	for range 4 {
		if _, changed := s.next(ctx, 3*time.Second); !changed {
			s.Say("Nothing changes any more.")
			return ctx.Err()
		}
	}
	s.Say("And so on, until the other team stops its controller.")
	err := s.stops["metrics"]()
	delete(s.stops, "metrics")
	s.skip()
	return err
}

// startBoth starts the two controllers, and watches the Service.
func (s *story) startBoth(ctx context.Context) (err error) {
	s.states, err = s.Client.CoreV1().Services(s.Namespace).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	ours, err := website.NewProcess(s.Demo, website.NewCDN(func(string, ...any) {}), "websites")
	if err != nil {
		return err
	}
	s.cluster = ours.Cluster
	config := rest.CopyConfig(s.Config())
	config.UserAgent = "metrics" // the owner of what it updates
	theirs, err := mini.NewCluster(config, example.NewScheme())
	if err != nil {
		return err
	}
	s.start(ctx, "metrics", func(ctx context.Context) error { return otherTeam(ctx, theirs) })
	s.start(ctx, "websites", func(ctx context.Context) error { return s.run(ctx, ours) })
	return nil
}

func (s *story) rename(ctx context.Context) error {
	s.Say("The user writes the domain shop.example.com into the page.")
	if err := s.setDomain(ctx, `"shop.example.com"`); err != nil {
		return err
	}
	if err := s.until(ctx, "domain"); err != nil {
		return err
	}
	s.Say("The user sells the domain, and removes it from the page.")
	if err := s.setDomain(ctx, "null"); err != nil {
		return err
	}
	if _, changed := s.next(ctx, 5*time.Second); !changed {
		s.Say("The Service stays as it is.")
	}
	return ctx.Err()
}

func (s *story) setDomain(ctx context.Context, domain string) error {
	_, err := s.Client.CoreV1().ConfigMaps(s.Namespace).Patch(ctx, "home", types.MergePatchType,
		[]byte(`{"data":{"domain":`+domain+`}}`), metav1.PatchOptions{})
	return err
}

func (s *story) want(ctx context.Context) error {
	_, err := s.apply(ctx, mini.FieldOwner{Name: "ada"})
	var conflict *mini.ApplyConflict
	if !errors.As(err, &conflict) {
		return fmt.Errorf("ada applies a port of websites, and gets no conflict: %w", err)
	}
	for _, field := range conflict.Fields {
		s.Say("409 Conflict: %s has %s.", field.Owner, field.Path)
	}
	return nil
}

func (s *story) force(ctx context.Context) error {
	service, err := s.apply(ctx, mini.FieldOwner{Name: "ada", Force: true})
	if err != nil {
		return err
	}
	if err := s.until(ctx, "8080"); err != nil { // ada's
		return err
	}
	if err := s.until(ctx, "80"); err != nil { // the next one, of the Website controller
		return err
	}
	client := &mini.Client{Cluster: s.cluster}
	if err := client.Get(ctx, mini.KeyOf(service), service); err != nil {
		return err
	}
	for _, owner := range []string{"websites", "ada"} {
		has, err := mini.Extract(service, owner)
		if err != nil {
			return err
		}
		spec, _ := has["spec"].(mini.Fields)
		text, _ := json.Marshal(spec["ports"]) // it's made of JSON
		s.Say("Of the ports, %s has %s.", owner, text)
	}
	return nil
}

// apply applies what ada wants.
func (s *story) apply(ctx context.Context, owner mini.FieldOwner) (*corev1.Service, error) {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "shop"}}
	port := mini.Fields{"port": 80, "targetPort": 8080}
	client := &mini.Client{Cluster: s.cluster}
	return service, client.Apply(ctx, service, mini.Fields{"spec": mini.Fields{"ports": []any{port}}}, owner)
}

// until prints the states of the Service up to one that has this word.
func (s *story) until(ctx context.Context, word string) error {
	for {
		state, changed := s.next(ctx, time.Hour)
		if !changed {
			return fmt.Errorf("waiting for %q in the Service: %w", word, context.Cause(ctx))
		}
		if strings.Contains(state, word) {
			return nil
		}
	}
}

// next waits for a state that differs from the last one, and prints it. It returns false if there's none
// for so long.
func (s *story) next(ctx context.Context, patience time.Duration) (state string, changed bool) {
	timeout := time.After(patience)
	for {
		select {
		case event := <-s.states.ResultChan():
			service, ok := event.Object.(*corev1.Service)
			if !ok {
				return "", false // the watch has ended
			}
			if state = describe(service); state != s.shown {
				s.shown = state
				s.Say("Service shop: %s", state)
				return state, true
			}
		case <-timeout:
			return "", false
		case <-ctx.Done():
			return "", false
		}
	}
}

// skip takes the states that are on their way, without a word.
func (s *story) skip() {
	for {
		select {
		case event := <-s.states.ResultChan():
			if service, ok := event.Object.(*corev1.Service); ok {
				s.shown = describe(service)
			}
		case <-time.After(time.Second):
			return
		}
	}
}

// describe says what the story is about: "http 80->8080, metrics 9090->9090".
func describe(service *corev1.Service) string {
	var ports []string
	for _, port := range service.Spec.Ports {
		ports = append(ports, fmt.Sprintf("%s %d->%s", port.Name, port.Port, port.TargetPort.String()))
	}
	state := strings.Join(ports, ", ")
	if domain, has := service.Annotations[Hostname]; has {
		state += "; domain " + domain
	}
	return state
}

// start starts a process, which works until its stop is called.
func (s *story) start(ctx context.Context, name string, run func(context.Context) error) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	s.stops[name] = func() error {
		cancel()
		return <-ended
	}
}

// end stops what still runs, and lets shop go: its finalizer would block the deletion of the namespace.
func (s *story) end(ctx context.Context) {
	for _, stop := range s.stops {
		_ = stop() // the story is over
	}
	if s.states != nil {
		s.states.Stop()
	}
	_ = s.sites.Patch(ctx, s.Namespace, "shop", `{"metadata":{"finalizers":null}}`)
}
