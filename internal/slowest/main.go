// Command slowest says where a run of many commands spent its time, and which tests failed in it.
//
//	slowest run [-name NAME] COMMAND...   runs a command, and notes how long it took
//	slowest report                        prints the ten that took the most processor time, and what failed
//
// One command may run others, as `go test -exec "slowest run"` runs test binaries. The report shows its
// own part, without theirs. A test that fails is somewhere in 100,000 lines of output, so its name and
// what it said stand at the end of the report, too.
//
// run -> a line of JSON in the file that SLOWEST_LOG names -> report. It stands on nothing of this
// repository.
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"text/tabwriter"
	"time"
)

const (
	logVariable    = "SLOWEST_LOG"    // the file with the notes, in a directory of the repository's
	withinVariable = "SLOWEST_WITHIN" // the name of the command that runs this one
)

// part is what's noted of a command.
type part struct {
	Name      string        `json:"name"`
	Within    string        `json:"within,omitempty"`
	Took      time.Duration `json:"took"`
	Processor time.Duration `json:"processor"` // of the command and of all that it waited for
	Code      int           `json:"code,omitempty"`
	Failed    string        `json:"failed,omitempty"` // what it printed of tests that failed
}

func main() {
	log := os.Getenv(logVariable)
	code, err := 2, errors.New("want `slowest run [-name NAME] COMMAND...` or `slowest report`")
	switch {
	case log == "":
		err = errors.New(logVariable + " has to name the file of the notes")
	case len(os.Args) > 2 && os.Args[1] == "run":
		code, err = run(log, os.Args[2:])
	case len(os.Args) == 2 && os.Args[1] == "report":
		code, err = 0, report(log, os.Stdout)
	}
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "slowest:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// run runs a command, and returns its exit code.
func run(log string, arguments []string) (code int, err error) {
	flags := flag.NewFlagSet("run", flag.ContinueOnError)
	name := flags.String("name", "", "The `name` of the command in the report; the default is the directory it runs in.")
	if err := flags.Parse(arguments); err != nil || flags.NArg() == 0 {
		return 2, cmp.Or(err, errors.New("run needs a command"))
	}
	if *name == "" {
		if *name, err = here(log); err != nil {
			return 1, err
		}
	}
	command := exec.Command(flags.Arg(0), flags.Args()[1:]...)
	var out, wrong failures // each stream has lines of its own
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, io.MultiWriter(os.Stdout, &out), io.MultiWriter(os.Stderr, &wrong)
	command.WaitDelay = 10 * time.Second // a process that it left behind may say more, or keep its output open for hours
	command.Env = append(os.Environ(), withinVariable+"="+*name)
	signals := make(chan os.Signal, 8) // room for more than one comes in a moment; never closed
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGHUP)
	began := time.Now()
	if err := command.Start(); err != nil {
		return 1, err
	}
	ended := make(chan error, 1) // sent once
	go func() { ended <- command.Wait() }()
	failure := wait(command.Process, ended, signals)
	state := command.ProcessState
	if exit := (*exec.ExitError)(nil); failure != nil && !errors.As(failure, &exit) && !errors.Is(failure, exec.ErrWaitDelay) {
		return 1, failure
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		code = 128 + int(status.Signal()) // as a shell says it
	} else {
		code = state.ExitCode()
	}
	return code, note(log, part{
		Name: *name, Within: os.Getenv(withinVariable),
		Took: time.Since(began), Processor: state.UserTime() + state.SystemTime(),
		Code: code, Failed: out.text.String() + wrong.text.String(),
	})
}

// wait waits for the end of a command. It passes signals on, except for SIGINT: a terminal sends it
// to the command, too, and a second one would cut its good order off. When the process that started
// this one is gone, the command is told to end: `go test` that's ended leaves what it runs behind.
func wait(process *os.Process, ended <-chan error, signals <-chan os.Signal) error {
	parent := os.Getppid()
	glance := time.NewTicker(time.Second)
	defer glance.Stop()
	for {
		select {
		case err := <-ended:
			return err
		case got := <-signals:
			if got != syscall.SIGINT {
				_ = process.Signal(got) // it may have ended
			}
		case <-glance.C:
			if now := os.Getppid(); now != parent {
				parent = now // to tell it once
				_ = process.Signal(syscall.SIGTERM)
			}
		}
	}
}

// here is the working directory, as seen from the repository that has the notes.
func here(log string) (string, error) {
	directory, err := os.Getwd()
	if err != nil {
		return "", err
	}
	return filepath.Rel(filepath.Dir(filepath.Dir(log)), directory)
}

func note(log string, p part) error {
	line, err := json.Marshal(p)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(log, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	_, err = file.Write(append(line, '\n')) // whole, whoever else writes
	return errors.Join(err, file.Close())
}

// shown is how many parts a report has.
const shown = 10

// report prints the parts that took the most processor time, then what failed, and removes the notes.
func report(log string, to io.Writer) error {
	text, err := os.ReadFile(log)
	if err != nil {
		return err
	}
	var parts []part
	within, failedWithin := map[string]time.Duration{}, map[string]bool{}
	for lines := json.NewDecoder(bytes.NewReader(text)); lines.More(); {
		var p part
		if err := lines.Decode(&p); err != nil {
			return fmt.Errorf("%s: %w", log, err)
		}
		parts = append(parts, p)
		within[p.Within] += p.Processor
		failedWithin[p.Within] = failedWithin[p.Within] || p.Code != 0
	}
	var all time.Duration
	for i, p := range parts {
		parts[i].Processor -= within[p.Name]
		all += parts[i].Processor
	}
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(b.Processor, a.Processor) })
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintf(table, "processor\ttook\t\n") // a tabwriter's error comes with Flush
	for _, p := range parts[:min(shown, len(parts))] {
		_, _ = fmt.Fprintf(table, "%s\t%s\t %s\n", seconds(p.Processor), seconds(p.Took), p.Name)
	}
	_, _ = fmt.Fprintf(table, "%s\t\t in all, %d parts\n", seconds(all), len(parts))
	if err := table.Flush(); err != nil {
		return err
	}
	for _, p := range parts {
		if p.Code != 0 && !failedWithin[p.Name] {
			_, _ = fmt.Fprintf(to, "\nFailed, with exit code %d: %s\n%s", p.Code, p.Name, p.Failed)
		}
	}
	return os.Remove(log)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.0f s", d.Seconds()) }
