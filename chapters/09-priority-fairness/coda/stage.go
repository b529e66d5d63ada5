package main

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/trace"
)

// stage plays the users of the demo. It knows enough about the controller to wait for it.
type stage struct {
	*demo.Demo
	recorder *trace.Recorder // the controller's; it gets too many events to show them all
	ledger   *ledger
	gate     *gate
	rows     [][]string

	made []string // the teams' Namespaces

	stop    func()     // ends the controller; nil if it does not run
	stopped chan error // the result of Run; capacity one, so that Run's goroutine ends even if nobody receives it

	mu       sync.Mutex        // guards what follows
	contacts map[string]string // of each team's Namespace; none if it has no label
	calls    int               // how many contacts there have been
}

// recorded is enough for a step: a storm makes some thousands of events.
const recorded = 1 << 15

func newStage(d *demo.Demo) *stage {
	return &stage{
		Demo: d, recorder: trace.New(recorded), ledger: newLedger(d.Recorder), gate: newGate(), contacts: map[string]string{},
		rows: [][]string{{"", "watch events", "adds", "merged", "reconciles", "writes"}},
	}
}

func (s *stage) startLedger(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { s.ledger.follow(ctx, s.recorder) })
	return func() { cancel(); running.Wait() }
}

// startController makes a new one, as a new process would: it knows nothing.
func (s *stage) startController(ctx context.Context) error {
	config := s.Config()
	config.QPS, config.Burst = rest.DefaultQPS, rest.DefaultBurst // what a program gets that sets neither
	config.Wrap(s.gate.wrap)
	controller, err := NewController(config, Options{
		Name: s.Namespace, ConfigMap: s.called("team"), Selector: teamLabel + ",demo=" + s.Namespace, Recorder: s.recorder,
		Backoff: informer.Backoff{Most: time.Second}, // the default of half a minute is too long for a demo
		OnError: func(string, error) {},              // the timeline shows it
	})
	if err != nil {
		return err
	}
	ctx, s.stop = context.WithCancel(ctx)
	s.stopped = make(chan error, 1)
	go func() { s.stopped <- controller.Run(ctx) }()
	return nil
}

// stopController waits for the end. It may be called again.
func (s *stage) stopController() error {
	if s.stop == nil {
		return nil
	}
	s.stop()
	s.stop = nil
	return <-s.stopped
}

// called makes a name that no earlier demo had: an earlier one's objects may still be there.
func (s *stage) called(what string) string { return what + strings.TrimPrefix(s.Namespace, "demo") }

func (s *stage) makeNamespace(ctx context.Context, team string) error {
	name := s.called(team)
	contact := s.nextContact(team)
	made, err := s.AddNamespace(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{teamLabel: team, "demo": s.Namespace}, Annotations: map[string]string{contactAnnotation: contact},
	}})
	if err != nil {
		return err
	}
	s.made = append(s.made, name)
	s.ledger.expect(object{"Namespace", "", name}, made.ResourceVersion)
	return nil
}

func (s *stage) nextContact(team string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	s.contacts[team] = "phone " + strconv.Itoa(s.calls)
	return s.contacts[team]
}

// callSomebodyElse gives a Namespace another contact.
func (s *stage) callSomebodyElse(ctx context.Context, team string) error {
	version, err := s.patchNamespace(ctx, team, `{"metadata":{"annotations":{"`+contactAnnotation+`":"`+s.nextContact(team)+`"}}}`)
	if err == nil {
		s.ledger.expect(object{"Namespace", "", s.called(team)}, version)
	}
	return err
}

// unlabel takes the label away. The controller's watch will say that the Namespace is gone.
func (s *stage) unlabel(ctx context.Context, team string) error {
	s.mu.Lock()
	delete(s.contacts, team)
	s.mu.Unlock()
	_, err := s.patchNamespace(ctx, team, `{"metadata":{"labels":{"`+teamLabel+`":null}}}`)
	return err
}

func (s *stage) patchNamespace(ctx context.Context, team, patch string) (version string, err error) {
	name := s.called(team)
	changed, err := s.Client.CoreV1().Namespaces().Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		return "", fmt.Errorf("changing the namespace %s: %w", name, err)
	}
	return changed.ResourceVersion, nil
}

func (s *stage) deleteConfigMap(ctx context.Context, team string) error {
	if err := s.Client.CoreV1().ConfigMaps(s.called(team)).Delete(ctx, s.called("team"), metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("deleting the ConfigMap of %s: %w", team, err)
	}
	return nil
}

func (s *stage) changeConfigMap(ctx context.Context, team string) error {
	key := types.NamespacedName{Namespace: s.called(team), Name: s.called("team")}
	_, err := s.Change(ctx, key, "contact", "nobody")
	return err
}

// ping returns nil if the API server can be reached.
func (s *stage) ping(ctx context.Context) error {
	return s.Client.Discovery().RESTClient().Get().AbsPath("/livez").Do(ctx).Error()
}

// row adds the step's counts to the table.
func (s *stage) row(title string) {
	counts, _ := s.ledger.step()
	s.rows = append(s.rows, counts.row(title))
}

// check asks the API server, not the controller's caches, whether these teams and no
// others have their ConfigMap, and whether it is right.
func (s *stage) check(ctx context.Context, teams ...string) error {
	found := map[string]string{}
	for _, name := range s.made {
		list, err := s.Client.CoreV1().ConfigMaps(name).List(ctx, metav1.ListOptions{LabelSelector: managedByLabel + "=" + s.Namespace})
		if err != nil {
			return fmt.Errorf("looking at the ConfigMaps of %s: %w", name, err)
		}
		for _, configMap := range list.Items {
			found[configMap.Data["team"]] = configMap.Data["contact"]
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(found) != len(teams) || !maps.Equal(found, s.contacts) {
		return fmt.Errorf("the ConfigMaps say %v, but should say %v", found, s.contacts)
	}
	return nil
}
