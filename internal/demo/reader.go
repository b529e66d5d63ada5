package demo

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"
)

// What a reader takes in before the next step, if V=1 does not ask for all.
const (
	linesOfStep = 25
	maxColumns  = 100
)

// reader sits at the terminal. The demo stops for them before each step, and before it deletes its
// objects. A nil reader is none: a test, or a pipe.
type reader struct {
	enter   <-chan struct{} // one for each line; closed at the end of the input
	stopped <-chan struct{} // closed when the demo is interrupted
	columns int             // a line is cut after these; 0: never
	lines   int             // a step is cut after these; 0: never

	shown, hidden int // lines of this step
}

// findReader returns nil unless input and output are terminals. STEP=0 asks for no reader.
func findReader(ctx context.Context, in *os.File, out io.Writer) *reader {
	screen, ok := out.(*os.File)
	if !ok || os.Getenv("STEP") == "0" || !term.IsTerminal(int(in.Fd())) || !term.IsTerminal(int(screen.Fd())) {
		return nil
	}
	r := newReader(ctx, in)
	if os.Getenv("V") != "1" {
		r.lines, r.columns = linesOfStep, maxColumns
		if width, _, err := term.GetSize(int(screen.Fd())); err == nil && width > 0 {
			r.columns = min(maxColumns, width)
		}
	}
	return r
}

// newReader reads lines until the input ends, or the demo does.
func newReader(ctx context.Context, in io.Reader) *reader {
	enter := make(chan struct{})
	go func() { // a read from a terminal cannot be called off, so nobody waits for its end
		defer close(enter)
		for lines := bufio.NewScanner(in); lines.Scan(); {
			select {
			case enter <- struct{}{}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return &reader{enter: enter, stopped: ctx.Done()}
}

// wait returns when the reader has pressed Enter, or with an error if they interrupt the demo.
func (r *reader) wait() error {
	select {
	case <-r.enter:
		return nil
	case <-r.stopped:
		return context.Canceled
	}
}

// interrupted reports whether the reader has ended the demo.
func (r *reader) interrupted() bool {
	if r == nil {
		return false
	}
	select {
	case <-r.stopped:
		return true
	default:
		return false
	}
}

// fit leaves out of text what is too long for the reader.
func (r *reader) fit(text string) string {
	if r == nil || r.lines == 0 {
		return text
	}
	var fitting strings.Builder
	for line := range strings.Lines(text) {
		if r.shown == r.lines {
			r.hidden++
			continue
		}
		r.shown++
		fitting.WriteString(ansi.Truncate(strings.TrimSuffix(line, "\n"), r.columns, "…"))
		if strings.HasSuffix(line, "\n") {
			fitting.WriteString("\n")
		}
	}
	return fitting.String()
}

// turn ends a step. It returns what is to be said about lines that were hidden.
func (r *reader) turn() string {
	if r == nil {
		return ""
	}
	hidden := r.hidden
	r.shown, r.hidden = 0, 0
	if hidden == 0 {
		return ""
	}
	return fmt.Sprintf("  … %d more lines: V=1 shows all\n", hidden)
}

// Ask has the next step begin with a question for the reader. Without a terminal it is not asked.
func (d *Demo) Ask(question string) { d.question = question }

// begin prints a headline, and waits for the reader.
func (d *Demo) begin(headline string) error {
	if d.reader.interrupted() {
		return context.Canceled
	}
	d.print("")
	d.printWhole(d.turn() + "\n" + headline + "\n\n")
	question := d.question
	d.question = ""
	if d.reader == nil {
		return nil
	}
	prompt := "  Enter goes on.\n"
	if question != "" {
		prompt = "  Predict: " + question + "\n  Type what you think, then Enter.\n"
	}
	return d.prompt(prompt)
}

func (d *Demo) turn() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.reader.turn()
}

// prompt waits for the reader, who may take their time.
func (d *Demo) prompt(text string) error {
	d.printWhole(text)
	if d.limit != nil {
		d.limit.Stop()
		defer d.limit.Reset(storyLimit)
	}
	return d.reader.wait()
}

// Linger leaves everything as it is until the reader presses Enter, so that they can look at the
// objects, those of the kinds too. A story calls it before it takes down what it has built; the
// demo calls it for the others. Without a terminal it returns at once.
func (d *Demo) Linger(kinds ...string) {
	if d.reader == nil || d.lingered {
		return
	}
	d.lingered = true
	d.print("")
	kinds = append(kinds, "all", "configmaps", "leases", "endpointslices")
	kubectl := cmp.Or(d.Cluster.Kubectl, "kubectl")
	if d.Cluster.Kubeconfig != "" {
		kubectl += " --kubeconfig " + d.Cluster.Kubeconfig
	}
	// An interruption is as good as Enter: the story is over.
	_ = d.prompt(fmt.Sprintf("%s\nThe objects stay until you press Enter. Look at them in another terminal:\n\n"+
		"%s --namespace %s get %s\n\n", d.turn(), kubectl, d.Namespace, strings.Join(kinds, ",")))
}
