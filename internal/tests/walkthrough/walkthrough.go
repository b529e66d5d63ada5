// Package walkthrough plays the walk-throughs of Kubernetes' documentation on a cluster: what a
// reader of kubernetes.io types, and what must be there then. Nobody wrote these pages for our
// controllers.
//
// A walk is a file of walks/: the page's commands, retyped, and the states that it promises.
//
// Neighbours: below it is kubectl. Above it is a test, which plays the walks on clusters with
// different controllers, and writes docs/walkthroughs.md.
package walkthrough

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// Walk is a page of the documentation.
type Walk struct {
	Name        string `json:"-"`
	Title       string
	Page        string   // its address
	Controllers []string // that the page is about, by kind: "deployment"
	// Before is what the page takes for granted and our cluster lacks; it is not a step.
	Before string
	Steps  []Step
}

// Step is what a reader does under one heading of the page.
type Step struct {
	Step string // what it is about
	// Do is typed into a shell. It must succeed, unless Fails matches what it prints.
	Do    string
	Fails string
	See   []Sight
	// Not says why the step does not pass, by runtime.
	Not map[string]string
}

// Sight is what must be there after a step, sooner or later.
type Sight struct {
	Run string // a command
	Is  string // a regular expression for all that it prints, without white space at its ends
}

//go:embed walks/*.yaml
var walks embed.FS

// Walks returns all walks, in the order of their names.
func Walks() (all []Walk, err error) {
	files, err := walks.ReadDir("walks")
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		text, err := walks.ReadFile(path.Join("walks", file.Name()))
		if err != nil {
			return nil, err
		}
		w := Walk{Name: strings.TrimSuffix(file.Name(), ".yaml")}
		if err := yaml.UnmarshalStrict(text, &w); err != nil {
			return nil, fmt.Errorf("reading the walk %s: %w", file.Name(), err)
		}
		all = append(all, w)
	}
	return all, nil
}

// NeedsOnly reports whether the page is about no other controllers.
func (w Walk) NeedsOnly(controllers []string) bool {
	for _, c := range w.Controllers {
		if !slices.Contains(controllers, c) {
			return false
		}
	}
	return true
}

// Shell is where a reader types.
type Shell struct {
	Dir string // of files that the commands write
	Env []string
	// Patience is how long a step waits for what it must see. A walk that passes never needs it.
	Patience time.Duration
}

// NewShell returns the shell of a reader whose kubectl leads to a namespace of the cluster of
// kubeconfig. Dir gets a kubeconfig of its own.
func NewShell(ctx context.Context, kubectl, kubeconfig, namespace, dir string) (*Shell, error) {
	text, err := os.ReadFile(kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	own := filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(own, text, 0o600); err != nil {
		return nil, fmt.Errorf("writing a kubeconfig: %w", err)
	}
	s := &Shell{
		Dir: dir,
		Env: append(os.Environ(), "KUBECONFIG="+own, "HOME="+dir,
			"NAMESPACE="+namespace, "PATH="+filepath.Dir(kubectl)+string(os.PathListSeparator)+os.Getenv("PATH")),
		Patience: 2 * time.Minute,
	}
	output, err := s.run(ctx, "kubectl create namespace "+namespace+
		" && kubectl config set-context --current --namespace="+namespace)
	if err != nil {
		return nil, fmt.Errorf("making the namespace %s: %w: %s", namespace, err, output)
	}
	return s, nil
}

// Take does one step. Its error says what was expected, and what came instead.
func (s *Shell) Take(ctx context.Context, step Step) error {
	output, err := s.run(ctx, step.Do)
	switch {
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil && step.Fails == "":
		return fmt.Errorf("%s\n%w:\n%s", step.Do, err, output)
	case err == nil && step.Fails != "":
		return fmt.Errorf("%s\nsucceeds:\n%s", step.Do, output)
	case step.Fails != "" && !regexp.MustCompile(step.Fails).MatchString(output):
		return fmt.Errorf("%s\nshould fail with %q, and fails with:\n%s", step.Do, step.Fails, output)
	}
	for _, sight := range step.See {
		if err := s.see(ctx, sight); err != nil {
			return err
		}
	}
	return nil
}

// see waits until a command prints what it should.
func (s *Shell) see(ctx context.Context, sight Sight) error {
	expected, err := regexp.Compile("^(?s:" + sight.Is + ")$")
	if err != nil {
		return fmt.Errorf("what is to be seen is no regular expression: %w", err)
	}
	for until := time.Now().Add(s.Patience); ; {
		output, err := s.run(ctx, sight.Run)
		output = strings.TrimSpace(output)
		if err == nil && expected.MatchString(output) {
			return nil
		}
		if time.Now().After(until) || ctx.Err() != nil {
			return fmt.Errorf("%s\nshould print %q, and prints:\n%s", sight.Run, sight.Is, output)
		}
		time.Sleep(300 * time.Millisecond) // kubectl takes as long
	}
}

// run types a command. A command that hangs is ended with ctx, and all that it has started.
func (s *Shell) run(ctx context.Context, command string) (output string, err error) {
	shell := exec.CommandContext(ctx, "sh", "-e", "-c", command)
	shell.Dir, shell.Env, shell.WaitDelay = s.Dir, s.Env, time.Second
	var both bytes.Buffer
	shell.Stdout, shell.Stderr = &both, &both
	err = shell.Run()
	return both.String(), err
}
