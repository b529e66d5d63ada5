package demo

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"

	"github.com/loopwright/loopwright/cluster"
)

// What a reader takes in before the next step, if V=1 does not ask for all.
const (
	linesOfStep = 25
	maxColumns  = 100
	objectWidth = 14 // the key of an object in a demo's namespace: "demo-cdrfx/web"
)

// reader sits at the terminal. The demo stops for them before each step, and before it deletes its
// objects. A nil reader is none: a test, or a pipe.
type reader struct {
	enter   <-chan string   // the lines that they type; closed at the end of the input
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
	enter := make(chan string)
	go func() { // a read from a terminal cannot be called off, so nobody waits for its end
		defer close(enter)
		for lines := bufio.NewScanner(in); lines.Scan(); {
			select {
			case enter <- lines.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	return &reader{enter: enter, stopped: ctx.Done()}
}

// wait returns what the reader has typed before Enter, or an error if they interrupt the demo.
func (r *reader) wait() (string, error) {
	select {
	case typed := <-r.enter:
		return typed, nil
	case <-r.stopped:
		return "", context.Canceled
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

// gap is what stands between two columns of the timeline, the first of which may end with a color.
var gap = regexp.MustCompile(`(\S)  +(\x1b\[0m)? *`)

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
		shown := strings.TrimSuffix(line, "\n")
		if ansi.StringWidth(shown) > r.columns {
			shown = gap.ReplaceAllString(shown, "$1$2  ") // better a crooked table than half a sentence
		}
		fitting.WriteString(ansi.Truncate(shown, r.columns, "…"))
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

// wrap breaks a line that is too long for the reader between words. What follows is indented alike.
func (r *reader) wrap(line string) string {
	if r == nil || r.columns == 0 {
		return line
	}
	text := strings.TrimLeft(line, " ")
	indent := line[:len(line)-len(text)]
	return indent + strings.ReplaceAll(ansi.Wordwrap(text, r.columns-len(indent), ""), "\n", "\n"+indent)
}

// Question is what a reader is asked before a step.
type Question struct {
	step, until   int // asked before step, answered after until; the first is 1
	text, compare string
	typed         string // what the reader thinks
}

// Predict asks before a step of the story, the first of which is 1. After it, the demo says which
// part of the output the reader has to compare their prediction with: "the last line".
func Predict(step int, question, compare string) Question {
	return Question{step: step, until: step, text: question, compare: compare}
}

// Until is for a question that only a later step answers.
func (q Question) Until(step int) Question {
	q.until = step
	return q
}

// Ask has the next step begin with a question for the reader, and end with what to compare the
// prediction with, if that is given. Without a terminal it is not asked.
func (d *Demo) Ask(question string, compare ...string) {
	if question != "" {
		d.questions = append(d.questions, Predict(d.steps+1, question, strings.Join(compare, " ")))
	}
}

// Step runs one step of the story under a headline. At a terminal it waits for the reader first.
func (d *Demo) Step(headline string, step func() error) error {
	if d.reader.interrupted() {
		return context.Canceled
	}
	d.print("")
	d.printWhole(d.turn() + "\n" + headline + "\n\n")
	d.steps++
	if d.reader == nil {
		return step()
	}
	if err := d.ask(); err != nil {
		return err
	}
	if err := step(); err != nil {
		return err
	}
	d.print("")
	d.printWhole(d.turn())
	for _, q := range d.questions {
		if q.until == d.steps && q.compare != "" {
			d.printWhole(d.reader.wrap(q.answer()) + "\n")
		}
	}
	return nil
}

// ask puts the questions of this step to the reader, or waits for them if there is none.
func (d *Demo) ask() error {
	asked := false
	for i, q := range d.questions {
		if q.step != d.steps {
			continue
		}
		typed, err := d.prompt(d.reader.wrap("  Predict: "+q.text) + "\n  Type what you think, then press Enter.\n")
		if err != nil {
			return err
		}
		asked, d.questions[i].typed = true, strings.TrimSpace(typed)
	}
	if asked {
		return nil
	}
	_, err := d.prompt("  Press Enter to go on.\n")
	return err
}

func (q Question) answer() string {
	if q.typed == "" {
		return "  Compare your prediction with " + q.compare + "."
	}
	return fmt.Sprintf("  You predicted %q: compare it with %s.", q.typed, q.compare)
}

func (d *Demo) turn() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.reader.turn()
}

// prompt waits for the reader, who may take their time, and returns what they type.
func (d *Demo) prompt(text string) (string, error) {
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
	kinds = append(kinds, "all", "configmaps", "secrets", "leases", "endpointslices")
	kubectl := cluster.ShellWord(cmp.Or(d.Cluster.Kubectl, "kubectl"))
	if d.Cluster.Kubeconfig != "" {
		kubectl += " --kubeconfig " + cluster.ShellWord(d.Cluster.Kubeconfig) + " \\\n " // a line of a terminal, and one of the shell
	}
	// An interruption is as good as Enter: the story is over.
	_, _ = d.prompt(fmt.Sprintf("%s\nThe objects stay until you press Enter. Look at them in another terminal:\n\n"+
		"%s --namespace %s get %s\n\n", d.turn(), kubectl, d.Namespace, strings.Join(kinds, ",")))
}
