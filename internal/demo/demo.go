// Package demo is the stage on which a chapter's demo plays: it gets a cluster,
// makes a namespace for the demo's objects, narrates, and cleans up whatever
// happens. At a terminal it waits for its reader: before each step, and before it
// deletes what the reader may want to look at.
//
// A chapter's main calls Main with its story. Package cluster finds the cluster;
// package trace, the flight recorder, provides the timeline.
package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/pkg/browser"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/cluster"
	"github.com/loopwright/loopwright/trace"
	"github.com/loopwright/loopwright/xray"
)

const (
	// requestLimit bounds every request of the demo's own client, so that an API
	// server which hangs ends the demo with an error.
	requestLimit = 15 * time.Second
	// cleanupLimit bounds the cleaning up.
	cleanupLimit = 20 * time.Second
)

// A story that runs a learner's code may never end, and then it is ended. These are
// variables for the test that waits for it.
var (
	// storyLimit is several times what any story takes.
	storyLimit = 10 * time.Minute
	// endLimit is how long a demo may take to end when it was interrupted.
	endLimit = cleanupLimit + 10*time.Second
)

// Demo is what a story works with.
type Demo struct {
	Cluster *cluster.Cluster
	// Client makes the objects that the story is about.
	Client kubernetes.Interface
	// Namespace is the demo's own. It is deleted with all that is in it.
	Namespace string
	// Recorder is the flight recorder. What is written to it is shown at once.
	Recorder *trace.Recorder
	// Image is one that every node of the cluster holds.
	Image string
	// Steps are the buttons of X-ray; nil while it is not shown.
	Steps *xray.Steps

	line      trace.Timeline
	steps     int // how many have begun
	questions []Question
	lingered  bool
	limit     *time.Timer // ends a story that does not end; nil is none

	mu     sync.Mutex             // guards what follows: the story and the live timeline print
	out    io.Writer              // what the reader sees
	reader *reader                // nil is none
	cursor *trace.Cursor          // up to where the recorder's events have been printed
	wanted func(trace.Event) bool // which of them are printed; nil is all
}

// Main runs a story and ends the process: with 0 if all went well, with 1 after
// an error. Interrupted, it cleans up first. A reader is asked the questions before their steps.
func Main(title string, story func(context.Context, *Demo) error, questions ...Question) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP) // or the terminal is closed
	onSignal := func() {
		stop() // a second signal ends the process at once
		fmt.Fprintln(os.Stderr, "\ninterrupted, and cleaning up. Press Ctrl-C again to end at once.")
		time.AfterFunc(endLimit, giveUp)
	}
	err := untilSignal(ctx, stop, onSignal, func() error {
		options, err := cluster.OptionsFromEnv()
		if err != nil {
			return err
		}
		return Run(ctx, os.Stdout, options, title, func(ctx context.Context, d *Demo) error {
			d.questions = questions
			d.limit = time.AfterFunc(storyLimit, giveUp)
			defer func() {
				d.limit.Stop()
				d.limit = nil
			}()
			return story(ctx, d)
		})
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "\ndemo:", err)
		os.Exit(1)
	}
}

// untilSignal plays, and calls onSignal if a signal ends ctx before the play is
// over. After the play, stop ends ctx as well: onSignal is unregistered first, so
// that a normal end is not mistaken for a signal.
func untilSignal(ctx context.Context, stop context.CancelFunc, onSignal func(), play func() error) error {
	unregister := context.AfterFunc(ctx, onSignal)
	err := play()
	unregister()
	stop()
	return err
}

// giveUp ends a demo that does not end by itself.
func giveUp() {
	fmt.Fprintln(os.Stderr, "\ndemo: the program didn't end by itself, so it was stopped. If it ran your own code (MINE=1), look for a loop that never ends.\n"+
		"The next demo removes whatever this one has left in the cluster.")
	os.Exit(1)
}

// Run plays a story on the cluster that options ask for.
func Run(ctx context.Context, out io.Writer, options cluster.Options, title string, story func(context.Context, *Demo) error) error {
	found, err := cluster.Up(ctx, options)
	if err != nil {
		return err
	}
	// A demo may kill the API server, and another one would not understand.
	release, err := found.Exclusive(ctx, "demo", out)
	if err != nil {
		return err
	}
	defer release()
	_, _ = fmt.Fprintf(out, "%s\n%s\nCluster: %s\n", title, strings.Repeat("=", len(title)), found.Name)
	return play(ctx, out, findReader(ctx, os.Stdin, out), found, staysUp, story)
}

// staysUp ends what Run prints. It isn't true of what On gets: an API server in memory ends with the story.
const staysUp = " The cluster stays up; `make cluster-status` shows it."

// On plays a story on a cluster that is there, without a reader.
func On(ctx context.Context, out io.Writer, on *cluster.Cluster, story func(context.Context, *Demo) error) error {
	return play(ctx, out, nil, on, "", story)
}

// play plays a story. afterwards is what its last words say of the cluster.
func play(
	ctx context.Context, out io.Writer, r *reader, on *cluster.Cluster, afterwards string, story func(context.Context, *Demo) error,
) error {
	recorder := trace.New(0)
	demo := &Demo{
		Cluster: on, Recorder: recorder, out: out, reader: r,
		cursor: recorder.Cursor(), line: trace.Timeline{Color: isTerminal(out), LayerWidth: 9, ObjectWidth: 31},
	}
	if r != nil {
		demo.line.ObjectWidth = objectWidth
		defer slog.SetDefault(slog.Default())
		slog.SetDefault(slog.New(logger{demo}))
	}
	stopTimeline := demo.startTimeline()
	err := demo.prepare(ctx)
	if err == nil && os.Getenv("XRAY") != "" {
		err = demo.ShowXRay(ctx)
	}
	if err == nil {
		err = story(ctx, demo)
	}
	if err == nil {
		demo.Linger()
	}
	if file := os.Getenv("XRAY"); err == nil && strings.HasSuffix(file, ".jsonl") {
		err = demo.save(file)
	}
	stopTimeline()
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		err = errors.New("interrupted")
	}
	err = errors.Join(explain(err), demo.cleanUp())
	if err == nil {
		_, _ = fmt.Fprintln(out, "\n"+r.wrap("Cleaned up: the namespace "+demo.Namespace+
			" is being deleted."+afterwards))
	}
	return err
}

// ShowXRay opens X-ray in a browser. The address is printed, in case there is none. It comes before
// the first Config, because the buttons of the page disturb the connection.
func (d *Demo) ShowXRay(ctx context.Context) error {
	d.Steps = xray.NewSteps(d.Recorder)
	url, err := xray.Serve(ctx, d.Recorder, d.Steps)
	if err != nil {
		return err
	}
	d.printWhole("X-ray: " + url + "\n")
	if os.Getenv("XRAY") == "1" {
		browser.Stdout, browser.Stderr = io.Discard, io.Discard
		_ = browser.OpenURL(url)
	}
	return nil
}

// save writes what X-ray shows to a file: XRAY=testdata/xray.jsonl makes the recording of a chapter.
func (d *Demo) save(file string) error {
	var text bytes.Buffer
	if err := trace.WriteRecording(&text, d.Recorder); err != nil {
		return err
	}
	return os.WriteFile(file, text.Bytes(), 0o644)
}

// Config reaches the cluster; a story gives it to the parts it is about.
func (d *Demo) Config() *rest.Config {
	config := d.Cluster.RESTConfig()
	if config.UserAgent == "" {
		config.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	if d.Steps != nil {
		config.Wrap(d.Steps.Wrap)
	}
	return config
}

func (d *Demo) prepare(ctx context.Context) error {
	config := d.Cluster.RESTConfig()
	config.Timeout = requestLimit
	var err error
	if d.Client, err = kubernetes.NewForConfig(config); err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	if d.Image, err = heldImage(ctx, d.Client); err != nil {
		return err
	}
	if err := d.sweep(ctx); err != nil {
		return err
	}
	return d.makeNamespace(ctx)
}

// heldImage is one that needs no download: the pause image, which is on every
// real node. Fake nodes run anything.
func heldImage(ctx context.Context, client kubernetes.Interface) (string, error) {
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", fmt.Errorf("looking for an image that the nodes hold: %w", err)
	}
	for _, node := range nodes.Items {
		for _, image := range node.Status.Images {
			for _, name := range image.Names {
				if strings.Contains(name, "pause:") && !strings.Contains(name, "@") {
					return name, nil
				}
			}
		}
	}
	return "registry.k8s.io/pause:3.10.1", nil
}

// explain adds what to do to an error that means the cluster is gone.
func explain(err error) error {
	if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("the API server no longer answers: `make cluster-status` shows what runs, `make cluster-up` starts it again: %w", err)
	}
	return err
}

// startTimeline shows events as they are recorded, until the returned function
// is called, which waits for the last of them.
func (d *Demo) startTimeline() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	waiting := d.Recorder.Cursor()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for waiting.Wait(ctx) == nil {
			waiting.Read()
			d.print("")
		}
	}()
	return func() {
		cancel()
		<-done
		d.print("")
	}
}

// Say prints a remark.
func (d *Demo) Say(format string, args ...any) {
	d.print(fmt.Sprintf("  # "+format+"\n", args...))
}

// Show says which events the timeline shows from now on; nil is all.
func (d *Demo) Show(wanted func(trace.Event) bool) {
	d.print("") // what was recorded before is shown as it was said then
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wanted = wanted
}

// Hidden returns the recorder, and hides its events from the timeline: they are for X-ray.
func (d *Demo) Hidden() *trace.Recorder {
	d.Show(func(trace.Event) bool { return false })
	return d.Recorder
}

// Sleep is time.Sleep that ends early with ctx: a reader who presses Ctrl-C does not wait for it.
func Sleep(ctx context.Context, duration time.Duration) {
	select {
	case <-time.After(duration):
	case <-ctx.Done():
	}
}

// print writes the events that were recorded before, and then the text. So a
// remark never overtakes what it is about. After an interruption it writes nothing.
func (d *Demo) print(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.reader.interrupted() {
		return
	}
	events, _ := d.cursor.Read()
	var all strings.Builder
	for _, event := range events {
		if d.wanted == nil || d.wanted(event) {
			_, _ = fmt.Fprintln(&all, "  "+d.line.Line(event))
		}
	}
	all.WriteString(text)
	_, _ = io.WriteString(d.out, d.reader.fit(all.String()))
}

// printWhole writes text that does not belong to a step.
func (d *Demo) printWhole(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, _ = io.WriteString(d.out, text)
}
