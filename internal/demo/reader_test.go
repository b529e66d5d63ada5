package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"

	"github.com/loopwright/loopwright/cluster"
	"github.com/loopwright/loopwright/internal/fakeapi"
)

// reading is a demo with a reader, on an in-memory API server.
type reading struct {
	t      *testing.T
	out    bytes.Buffer
	keys   *io.PipeWriter
	cancel context.CancelFunc
	ended  chan error
}

// withReader plays a story for a reader who does what read does, which ends when the demo does.
func withReader(t *testing.T, story func(context.Context, *Demo) error, read func(*reading)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(fakeapi.Options{FinalizeNamespaces: true})
		defer server.Close()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		in, keys := io.Pipe()
		defer keys.Close()
		r := &reading{t: t, keys: keys, cancel: cancel, ended: make(chan error, 1)}
		person := newReader(ctx, in)
		person.lines, person.columns = linesOfStep, maxColumns
		go func() { r.ended <- play(ctx, &r.out, person, cluster.Of("in memory", server.Config()), staysUp, story) }()
		read(r)
		client, err := kubernetes.NewForConfig(server.Config())
		require.NoError(t, err)
		left, err := client.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{LabelSelector: demoLabel})
		require.NoError(t, err)
		assert.Empty(t, left.Items, "the demo has ended, and its namespace is left")
	})
}

// sees waits until nothing happens any more, and compares the end of the output.
func (r *reading) sees(want string) {
	r.t.Helper()
	synctest.Wait()
	require.Empty(r.t, r.ended, "the demo has not waited: %s", &r.out)
	require.Contains(r.t, r.out.String(), want)
	r.out.Reset()
}

func (r *reading) types(text string) { fmt.Fprintln(r.keys, text) }

func (r *reading) enter() { r.types("") }

func step(d *Demo, name, says string) error {
	return d.Step(name, func() error { d.Say("%s", says); return nil })
}

func twoSteps(_ context.Context, d *Demo) error {
	d.Ask("how many Pods?")
	return errors.Join(step(d, "1. First", "one"), step(d, "2. Second", "two"))
}

// A reader who is asked to predict must not see the answer with the question.
func TestAReaderGoesOnFromStepToStep(t *testing.T) {
	withReader(t, twoSteps, func(r *reading) {
		r.sees("1. First\n\n  Predict: how many Pods?\n")
		r.enter()
		r.sees("  # one\n\n2. Second\n\n  Press Enter to go on.\n")
		r.enter()
		r.sees("  # two\n\nThe objects stay until you press Enter. Look at them in another terminal:\n\nkubectl --namespace demo-")
		time.Sleep(time.Hour)
		r.sees("")
		r.enter()
		require.NoError(t, <-r.ended)
		assert.Contains(t, r.out.String(), "Cleaned up")
		assert.Contains(t, r.out.String(), "The cluster stays up")
	})
}

// In a page, the API server ends with the story.
func TestAStoryInMemoryDoesNotSayThatTheClusterStaysUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(fakeapi.Options{FinalizeNamespaces: true})
		defer server.Close()
		var out bytes.Buffer
		require.NoError(t, On(t.Context(), &out, cluster.Of("in memory", server.Config()), twoSteps))
		assert.Regexp(t, `\nCleaned up: the namespace demo-[a-z0-9]{5} is being deleted\.\n$`, out.String())
	})
}

// A prediction that nobody compares with the answer teaches nothing. The answer may come later.
func TestAReaderComparesTheirPredictionWithTheAnswer(t *testing.T) {
	story := func(_ context.Context, d *Demo) error {
		d.questions = []Question{
			Predict(1, "how many Pods in the end?", "the last line").Until(2),
			Predict(2, strings.Repeat("and ", 30)+"why?", "the reason"),
		}
		return errors.Join(step(d, "1. First", "one"), step(d, "2. Second", "two"))
	}
	withReader(t, story, func(r *reading) {
		r.sees("1. First\n\n  Predict: how many Pods in the end?\n")
		r.types(" six ")
		synctest.Wait()
		assert.NotContains(t, r.out.String(), "six", "the answer comes after step 2")
		for line := range strings.Lines(r.out.String()) {
			assert.LessOrEqual(t, len(line), maxColumns+1)
		}
		r.sees("and why?\n  Type what you think, then press Enter.\n")
		r.enter()
		r.sees("  # two\n" +
			"  You predicted \"six\": compare it with the last line.\n" +
			"  Compare your prediction with the reason.\n")
		r.enter()
		require.NoError(t, <-r.ended)
	})
}

// A reader who has ended the demo does not want the rest of a step: it would be a half-truth.
func TestAnInterruptedStepSaysNoMore(t *testing.T) {
	story := func(ctx context.Context, d *Demo) error {
		return d.Step("1. Long", func() error {
			Sleep(ctx, time.Hour)
			d.Say("an hour has passed")
			return ctx.Err()
		})
	}
	withReader(t, story, func(r *reading) {
		r.sees("1. Long")
		r.enter()
		synctest.Wait()
		began := time.Now()
		r.cancel()
		require.ErrorContains(t, <-r.ended, "interrupted")
		assert.Zero(t, time.Since(began))
		assert.NotContains(t, r.out.String(), "an hour has passed")
	})
}

func TestTheEndOfTheInputIsEnter(t *testing.T) {
	withReader(t, twoSteps, func(r *reading) {
		r.sees("1. First")
		require.NoError(t, r.keys.Close())
		require.NoError(t, <-r.ended)
	})
}

// Whoever has seen enough wants the prompt back, and no rest in the cluster.
func TestAnInterruptionAtAPromptCleansUp(t *testing.T) {
	for steps, says := range []string{"1. First", "2. Second", "The objects stay"} {
		withReader(t, twoSteps, func(r *reading) {
			for range steps {
				synctest.Wait()
				r.enter()
			}
			r.sees(says)
			r.cancel()
			err := <-r.ended
			if steps == 2 {
				require.NoError(t, err, "the story was over")
			} else {
				require.ErrorContains(t, err, "interrupted")
				require.NotContains(t, r.out.String(), "2. Second", "the story went on")
			}
		})
	}
}

// A story that takes down what it has built shows it first.
func TestAStoryLingersOnce(t *testing.T) {
	story := func(_ context.Context, d *Demo) error {
		d.Linger("websites")
		d.Say("taken down")
		return nil
	}
	withReader(t, story, func(r *reading) {
		r.sees("get websites,all,configmaps,secrets,leases,endpointslices\n")
		r.enter()
		require.NoError(t, <-r.ended)
		assert.NotContains(t, r.out.String(), "The objects stay")
	})
}

// More than a screen at once is not read.
func TestALongStepIsCutOff(t *testing.T) {
	story := func(_ context.Context, d *Demo) error {
		return errors.Join(
			d.Step("1. Long", func() error {
				d.print(strings.Repeat("\x1b[31m"+strings.Repeat("é", 120)+"\x1b[0m\n", 30))
				return nil
			}),
			step(d, "2. Short", "short"))
	}
	withReader(t, story, func(r *reading) {
		synctest.Wait()
		r.enter()
		synctest.Wait()
		shown := r.out.String()
		assert.Equal(t, linesOfStep, strings.Count(shown, strings.Repeat("é", maxColumns-1)+"…"))
		assert.NotContains(t, shown, strings.Repeat("é", maxColumns))
		r.sees("\n  … 5 more lines: V=1 shows all\n\n2. Short\n")
		r.enter()
		r.sees("  # short\n\nThe objects stay")
		r.enter()
		require.NoError(t, <-r.ended)
	})
}

// What a controller logs is long, and some of it is about another demo or about the end of this one.
func TestAReaderSeesWhatTheProgramLogsAboutThisDemo(t *testing.T) {
	story := func(ctx context.Context, d *Demo) error {
		return d.Step("1. Log", func() error {
			slog.Error("reconcile failed", "request", d.Namespace+"/web", "err", errors.New(strings.Repeat("no room ", 20)))
			slog.Error("reconcile failed", "request", d.Namespace+"/web", "err", apierrors.NewConflict(schema.GroupResource{}, "web", nil))
			slog.Error("reconcile failed", "request", "demo-other/web", "err", errors.New("the namespace is being terminated"))
			slog.Error("reconcile failed", "request", d.Namespace+"/web", "err", fmt.Errorf("writing: %w", context.Canceled))
			return nil
		})
	}
	withReader(t, story, func(r *reading) {
		r.sees("1. Log")
		r.enter()
		synctest.Wait()
		assert.Regexp(t, `  ! reconcile failed: web, no room .{60,}…\n  ! reconcile failed: web, a conflict[^\n]+\n\nThe objects`, r.out.String())
		r.enter()
		require.NoError(t, <-r.ended)
	})
}

// The end of a line says what happened.
func TestALongLineLosesItsGapsBeforeItsEnd(t *testing.T) {
	r := &reader{columns: 42, lines: 1}
	assert.Equal(t, "     0.2s  \x1b[36mlist\x1b[0m  Pod  3 items at version 9\n",
		r.fit("     0.2s  \x1b[36mlist       \x1b[0m  Pod                 3 items at version 9\n"))
}

// A program in a pipe, or in CI, must not wait for a person.
func TestOnlyATerminalHasAReader(t *testing.T) {
	keyboard, terminal, err := pty.Open()
	if err != nil {
		t.Skip("this machine has no pseudo terminal: ", err)
	}
	defer keyboard.Close()
	defer terminal.Close()
	require.NoError(t, pty.Setsize(terminal, &pty.Winsize{Rows: 40, Cols: 80}))
	t.Setenv("STEP", "")
	t.Setenv("V", "")
	r := findReader(t.Context(), terminal, terminal)
	require.NotNil(t, r)
	assert.Equal(t, 80, r.columns, "a line that is wider than the terminal breaks")
	assert.Equal(t, linesOfStep, r.lines)
	_, err = keyboard.WriteString("three\n")
	require.NoError(t, err)
	typed, err := r.wait()
	require.NoError(t, err)
	assert.Equal(t, "three", typed)

	require.NoError(t, pty.Setsize(terminal, &pty.Winsize{Rows: 40, Cols: 300}))
	assert.Equal(t, maxColumns, findReader(t.Context(), terminal, terminal).columns)
	t.Setenv("V", "1")
	assert.Zero(t, findReader(t.Context(), terminal, terminal).lines)
	assert.Nil(t, findReader(t.Context(), terminal, io.Discard))
	t.Setenv("STEP", "0")
	assert.Nil(t, findReader(t.Context(), terminal, terminal))
}
