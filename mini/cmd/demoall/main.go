// Command demoall shows all of mini's controllers at work, on a cluster whose own controller manager
// runs only what a cluster needs to live: kubectl creates, changes and deletes an object of each kind.
// `make demo-all` runs it.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/cluster"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/internal/demo/alone"
	"github.com/loopwright/loopwright/mini"
	"github.com/loopwright/loopwright/mini/cmd/internal/all"
)

func main() {
	_ = os.Setenv("ORIGINALS", cluster.Bare)
	rebuilt := slices.Concat(cluster.SampleControllers, cluster.OptionalControllers)
	demo.Main("Mini's controllers: all of them", alone.Story(story, rebuilt...))
}

// patience bounds each wait. A CronJob may need a minute.
const patience = 2 * time.Minute

type shell struct {
	*demo.Demo
	ended chan error // from the manager, once
}

func story(ctx context.Context, d *demo.Demo) error {
	if d.Cluster.Kubectl == "" {
		return errors.New("demo-all needs the embedded cluster, which can do without its own controllers")
	}
	config := d.Config()
	config.WarningHandler = rest.NoWarnings{} // each request about Endpoints would print one
	connection, err := mini.NewCluster(config, scheme.Scheme)
	if err != nil {
		return err
	}
	connection.Trace = d.Hidden()
	m := mini.NewManager(connection)
	controllers, names, err := all.Controllers(m, []string{cluster.Bare})
	if err != nil {
		return err
	}
	for _, c := range controllers {
		m.AddController(c)
	}
	d.Say("%d controllers in one process: %s.", len(names), strings.Join(names, ", "))
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s := shell{d, make(chan error, 1)}
	go func() { s.ended <- m.Run(ctx) }()
	if err := s.play(ctx); err != nil {
		stop()
		return errors.Join(err, <-s.ended)
	}
	stop()
	return <-s.ended
}

// step is what a user does, and what there is to see of it in the end.
type step struct {
	title    string
	commands []line
}

// line is a kubectl command. If want is not empty, the command is repeated until it prints that.
type line struct{ command, stdin, want string }

func (s shell) play(ctx context.Context) error {
	for i, step := range steps(s.Namespace, s.Image) {
		err := s.Step(fmt.Sprintf("%d. %s", i+1, step.title), func() error {
			for _, l := range step.commands {
				if err := s.run(ctx, l); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// run runs a command as a user does, and waits until it prints what is wanted.
func (s shell) run(ctx context.Context, l line) error {
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		output, err := s.kubectl(ctx, l)
		if err == nil && (l.want == "" || output == strings.TrimSpace(l.want)) {
			s.Say("kubectl %s", l.command)
			if l.want != "" {
				s.Say("  %s", cmp.Or(output, "(nothing)"))
			}
			return nil
		}
		if l.want == "" || limited.Err() != nil {
			return fmt.Errorf("kubectl %s: it prints %q, and not %q: %w", l.command, output, l.want, cmp.Or(err, context.Cause(limited)))
		}
		demo.Sleep(limited, 200*time.Millisecond)
	}
}

// kubectl returns what the command prints, in one line.
func (s shell) kubectl(ctx context.Context, l line) (string, error) {
	command := exec.CommandContext(ctx, s.Cluster.Kubectl, strings.Fields(l.command)...)
	command.Env = append(os.Environ(), "KUBECONFIG="+s.Cluster.Kubeconfig)
	var stdout, stderr strings.Builder
	command.Stdin, command.Stdout, command.Stderr = strings.NewReader(l.stdin), &stdout, &stderr
	err := command.Run()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(stderr.String()))
	}
	return strings.Join(strings.Fields(stdout.String()), " "), err
}
