package bridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/playground/bridge"
	"github.com/loopwright/loopwright/playground/light/demotest"
	"github.com/loopwright/loopwright/playground/world"
	"github.com/loopwright/loopwright/trace"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	os.Exit(m.Run())
}

// message is what a page decodes.
type message struct {
	Is, From, Lines, Text, Error string
	ID                           int
	Count                        uint64
	State                        *world.State
	Words, Watched, Held         []string
}

// page is the other end.
type page struct {
	*testing.T
	*bridge.Bridge
	ctx context.Context

	mu    sync.Mutex // guards heard
	heard []message
}

func onPage(t *testing.T, test func(p *page)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		p := &page{T: t, ctx: ctx}
		p.Bridge = bridge.New(func(text string) {
			var m message
			if err := json.Unmarshal([]byte(text), &m); err != nil {
				t.Errorf("no JSON: %v: %s", err, text)
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			p.heard = append(p.heard, m)
		})
		defer func() {
			stop()
			p.Close()
			synctest.Wait()
		}()
		test(p)
	})
}

// send sends a command, and lets time pass.
func (p *page) send(command string, wait time.Duration) {
	p.Send(p.ctx, command)
	time.Sleep(wait)
	synctest.Wait()
}

// all returns the messages of a kind so far.
func (p *page) all(is string) (all []message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.heard {
		if m.Is == is {
			all = append(all, m)
		}
	}
	return all
}

// done is the answer to a command.
func (p *page) done(id int) message {
	p.Helper()
	var found []message
	for _, m := range p.all("done") {
		if m.ID == id {
			found = append(found, m)
		}
	}
	require.Len(p, found, 1, "command %d is answered once", id)
	return found[0]
}

func (p *page) text(id int) string {
	var text strings.Builder
	for _, m := range p.all("output") {
		if m.ID == id {
			text.WriteString(m.Text)
		}
	}
	return text.String()
}

// What a button does has to show in the picture, and in X-ray.
func TestAPageSeesTheWorldMove(t *testing.T) {
	onPage(t, func(p *page) {
		p.send(`{"id":1,"do":"start","seed":7}`, 2*time.Second)
		require.Empty(p, p.done(1).Error)
		p.send(`{"id":2,"do":"act","name":"create","args":["web","web:1","3"]}`, 10*time.Second)
		require.Empty(p, p.done(2).Error)
		states := p.all("state")
		last := states[len(states)-1].State
		require.Len(p, last.Pods, 3)
		require.EqualValues(p, 3, last.Deployments[0].Available)
		events := p.all("events")
		require.Equal(p, "mini-1", events[0].From)
		seq := 0.0
		for _, m := range events {
			for line := range strings.Lines(m.Lines) {
				var e map[string]any
				require.NoError(p, json.Unmarshal([]byte(line), &e))
				require.Equal(p, seq+1, e["seq"], "events come in order, each once")
				seq++
			}
		}
		require.Greater(p, seq, 100.0)
		p.send(`{"id":3,"do":"kubectl","line":"get deploy"}`, time.Second)
		require.Contains(p, p.text(3), "web    3/3")
		p.send(`{"id":4,"do":"complete","line":"get de"}`, 0)
		require.Equal(p, []string{"deployments"}, p.all("words")[0].Words)
		p.send(`{"id":5,"do":"kubectl","line":"apply -f -","input":"kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}"}`, time.Second)
		require.Equal(p, "configmap/a created\n", p.text(5))
	})
}

func TestAWatchAtThePromptEndsWhenItIsCancelled(t *testing.T) {
	onPage(t, func(p *page) {
		p.send(`{"id":1,"do":"start"}`, 2*time.Second)
		p.send(`{"id":2,"do":"kubectl","line":"get nodes -w"}`, time.Hour)
		require.Len(p, p.all("done"), 1, "it goes on")
		p.send(`{"id":3,"do":"cancel","of":2}`, 0)
		require.Empty(p, p.done(2).Error, "Ctrl-C is no error")
		require.Empty(p, p.done(3).Error)
	})
}

// A reader starts over as often as they like.
func TestANewWorldTakesThePlaceOfTheOneBefore(t *testing.T) {
	onPage(t, func(p *page) {
		p.send(`{"id":1,"do":"start"}`, 2*time.Second)
		p.send(`{"id":2,"do":"act","name":"create","args":["web","web:1","3"]}`, 10*time.Second)
		p.send(`{"id":3,"do":"start","replicas":2}`, 10*time.Second)
		states := p.all("state")
		last := states[len(states)-1].State
		require.Empty(p, last.Pods)
		require.Len(p, last.Processes, 2)
		require.True(p, last.Processes[0].Leads != last.Processes[1].Leads)
	})
}

// Somebody clicks twice. A world that the page has lost would run on unseen, and outlive the bridge: the
// bubble, which waits for each goroutine, would never end.
func TestOfTwoWorldsThatStartAtOnceOneIsLeft(t *testing.T) {
	onPage(t, func(p *page) {
		for id := range 4 {
			p.Send(p.ctx, fmt.Sprintf(`{"id":%d,"do":"start","replicas":%d}`, id+1, id%2+1))
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		for id := range 4 {
			require.Empty(p, p.done(id+1).Error)
		}
		p.send(`{"id":5,"do":"act","name":"create","args":["web","web:1","3"]}`, 30*time.Second)
		require.Empty(p, p.done(5).Error)
		states := p.all("state")
		require.Len(p, states[len(states)-1].State.Pods, 3)
	})
}

func TestACommandThatMakesNoSenseIsAnswered(t *testing.T) {
	onPage(t, func(p *page) {
		p.send(`{"id":1,"do":"kubectl","line":"get pods"}`, 0)
		require.Contains(p, p.done(1).Error, "send start")
		p.send(`{"id":2,"do":"start"}`, 2*time.Second)
		for id, want := range map[string]string{
			`"id":3,"do":"fly"`:                                    `no command "fly"`,
			`"id":4,"do":"act","name":"fly"`:                       `no action "fly"`,
			`"id":5,"do":"chapter","name":"33-nothing"`:            `no chapter's program "33-nothing"`,
			`"id":6,"do":"kubectl","line":"gte"`:                   `unknown command "gte"`,
			`"id":7,"do":"press","of":1,"name":"hold watch"`:       "the id of a chapter that runs",
			`"id":8,"do":"act","name":"kill node","args":["moon"]`: "no such node",
		} {
			before := len(p.all("done"))
			p.send("{"+id+"}", 0)
			all := p.all("done")
			require.Len(p, all, before+1)
			require.Contains(p, all[before].Error, want)
		}
		p.send(`{"id":`, 0)
		all := p.all("done")
		require.Contains(p, all[len(all)-1].Error, "no command")
	})
}

// "Run it here": the output comes while the program runs, and so do its events.
func TestAChaptersProgramPlays(t *testing.T) {
	onPage(t, func(p *page) {
		p.Programs = map[string]demotest.Program{"00-test": {
			Options: fakeapi.Options{FinalizeNamespaces: true},
			Prepare: func(context.Context, *fakeapi.Server) {},
			Story: func(ctx context.Context, d *demo.Demo) error {
				return d.Step("1. A step", func() error {
					_, err := d.Client.CoreV1().ConfigMaps(d.Namespace).Create(ctx,
						&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
					d.Hidden().Record(trace.Event{Kind: trace.Note, Reason: "hello"})
					d.Say("It is created.")
					demo.Sleep(ctx, time.Minute)
					d.Say("It is old.")
					return err
				})
			},
		}}
		p.send(`{"id":1,"do":"chapter","name":"00-test"}`, 30*time.Second)
		require.Contains(p, p.text(1), "\n1. A step\n\n  # It is created.\n")
		require.NotContains(p, p.text(1), "old")
		require.Contains(p, p.all("events")[0].Lines, `"hello"`)
		require.Equal(p, "00-test", p.all("events")[0].From)
		p.send(`{"id":2,"do":"press","of":1,"name":"lose an answer","args":[""]}`, 0)
		require.Empty(p, p.done(2).Error)
		p.send(`{"id":3,"do":"cancel","of":99}`, time.Minute)
		require.Contains(p, p.text(1), "  # It is old.\n")
		require.Empty(p, p.done(1).Error)
	})
}

// A button for a watch that the program doesn't have would do nothing, and one that stays "Hold" while the
// watch is held would be a lie.
func TestAPageKnowsTheWatchesOfAChaptersProgram(t *testing.T) {
	onPage(t, func(p *page) {
		p.Programs = map[string]demotest.Program{"00-watch": {
			Options: fakeapi.Options{FinalizeNamespaces: true},
			Prepare: func(context.Context, *fakeapi.Server) {},
			Story: func(ctx context.Context, d *demo.Demo) error {
				client, err := kubernetes.NewForConfig(d.Config())
				if err != nil {
					return err
				}
				w, err := client.CoreV1().ConfigMaps(d.Namespace).Watch(ctx, metav1.ListOptions{})
				if err != nil {
					return err
				}
				defer w.Stop()
				d.Say("It watches.")
				demo.Sleep(ctx, time.Minute)
				return nil
			},
		}}
		p.send(`{"id":1,"do":"chapter","name":"00-watch"}`, 30*time.Second)
		p.send(`{"id":2,"do":"press","of":1,"name":"hold watch","args":["configmaps"]}`, 0)
		p.send(`{"id":3,"do":"press","of":1,"name":"release watch","args":["configmaps"]}`, 0)
		said := p.all("watches")
		require.Len(p, said, 3, "one for each change")
		for i, held := range [][]string{nil, {"configmaps"}, nil} {
			require.Equal(p, 1, said[i].ID)
			require.Equal(p, []string{"configmaps"}, said[i].Watched)
			require.Equal(p, held, said[i].Held)
		}
	})
}

// A program that disturbs its watch for hours fills the ring faster than a page can draw.
func TestEventsThatWereLostAreCounted(t *testing.T) {
	onPage(t, func(p *page) {
		p.Programs = map[string]demotest.Program{"00-busy": {
			Prepare: func(context.Context, *fakeapi.Server) {},
			Story: func(_ context.Context, d *demo.Demo) error {
				for range 3 * trace.DefaultSize {
					d.Hidden().Record(trace.Event{Kind: trace.Note})
				}
				return nil
			},
		}}
		p.send(`{"id":1,"do":"chapter","name":"00-busy"}`, time.Minute)
		require.Empty(p, p.done(1).Error)
		lost, got := 0, 0
		for _, m := range p.all("lost") {
			lost += int(m.Count)
		}
		for _, m := range p.all("events") {
			got += strings.Count(m.Lines, "\n")
		}
		require.Equal(p, 3*trace.DefaultSize, lost+got)
	})
}
