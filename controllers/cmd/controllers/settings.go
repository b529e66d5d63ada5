package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"

	ctrl "github.com/loopwright/loopwright"
	"github.com/loopwright/loopwright/controllers"
	"github.com/loopwright/loopwright/controllers/all"
	"github.com/loopwright/loopwright/manager/configfile"
	"github.com/loopwright/loopwright/manager/metrics/server"
	"github.com/loopwright/loopwright/trace"
	"github.com/loopwright/loopwright/xray"
)

const (
	// leaseName is the same in all replicas.
	leaseName = "loopwright-controllers"
	// leaseNamespace has the lease of a program that doesn't run in a Pod. It's the namespace of
	// the manifests in controllers/config, so that a program beside them waits until they've been
	// removed.
	leaseNamespace = "loopwright-system"
)

// namespaceFile is where a Pod finds the name of its namespace. It's a variable for tests.
var namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

type settings struct {
	controllers []string
	options     controllers.Options
	manager     ctrl.Options
	level       slog.Level
	json        bool
}

const usage = `controllers runs Loopwright's controllers instead of Kubernetes' own: %[1]s.
It runs others, of which Kubernetes' own are rarely switched off, if --controllers names them.

It works on the cluster of --kubeconfig, of KUBECONFIG, of the Pod that it runs in, or of ~/.kube/config, until you
interrupt it. Kubernetes' own controllers of these kinds must be switched off there: it checks, and refuses to start
if another controller answers. Of several replicas, only the one that holds the lease works.

Unless a flag or a file says otherwise, it serves metrics at 127.0.0.1:8080, probes at 127.0.0.1:8081, profiles and
%[2]s at 127.0.0.1:8082. The lease is ` + leaseName + ` in the Pod's namespace, or else in ` + leaseNamespace + `,
which it creates. The manifests in controllers/config use the same lease, so only one of the two works at a time.

  make controllers                       brings a cluster up, and runs it there
  controllers --controllers=replicaset   runs one of them
  controllers --config=settings.yaml     takes settings from a file; flags override it
  http://127.0.0.1:8082%[2]s     shows in a browser what they do, and why

Flags:
`

// parse reads the command line, and the file that it names. If the user asks for help, it prints
// that to out, and returns flag.ErrHelp.
func parse(args []string, out io.Writer) (*settings, error) {
	s := &settings{manager: defaults()}
	fs := flag.NewFlagSet("controllers", flag.ContinueOnError)
	fs.SetOutput(io.Discard) // errors are returned, and printed once
	ctrl.RegisterFlags(fs)
	chosen := fs.String("controllers", strings.Join(all.Default(), ","),
		"the controllers to run, with commas between, of "+strings.Join(all.Names(), ", "))
	skip := fs.Bool("skip-owner-check", false,
		"don't check whether another controller does the same work")
	format := fs.String("log-format", "text", "how to log: text or json")
	fs.TextVar(&s.level, "log-level", slog.LevelInfo, "what to log: debug, info, warn or error")
	file := configfile.BindFlags(fs)
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			_, _ = fmt.Fprintf(out, usage, strings.Join(all.Default(), ", "), xray.Path)
			fs.SetOutput(out)
			fs.PrintDefaults()
			return nil, err
		}
		return nil, fmt.Errorf("%w; --help lists the flags", err)
	}
	if fs.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q: all settings are flags; --help lists them",
			fs.Arg(0))
	}
	s.controllers = split(*chosen)
	if err := all.Check(s.controllers...); err != nil {
		return nil, fmt.Errorf("--controllers: %w", err)
	}
	if *format != "text" && *format != "json" {
		return nil, fmt.Errorf("--log-format %q: want text or json", *format)
	}
	s.json = *format == "json"
	if err := s.load(file); err != nil {
		return nil, err
	}
	if slices.Contains(s.controllers, all.GarbageCollector) &&
		len(s.manager.Cache.DefaultNamespaces) > 0 {
		return nil, fmt.Errorf("%s works in all namespaces, and cannot be kept to some: leave it "+
			"out of --controllers, or the namespaces out of the settings", all.GarbageCollector)
	}
	// In a Pod, RBAC lets the program write in this namespace only.
	s.options.Probe = controllers.ProbeOptions{
		Skip: *skip, Namespace: s.manager.LeaderElectionNamespace,
	}
	return s, nil
}

// load applies the file and the flags that override it.
func (s *settings) load(file *configfile.Flags) error {
	var named configfile.Config
	named.Manager.LeaderElection.ID = leaseName // so that the file doesn't have to set it
	if err := file.Load(&named); err != nil {
		return err
	}
	if err := named.Known(all.Names()...); err != nil {
		return err
	}
	return file.ApplyTo(&s.manager)
}

// defaults are what the file and the flags override.
func defaults() ctrl.Options {
	return ctrl.Options{
		LeaderElection: true, LeaderElectionID: leaseName, LeaderElectionNamespace: ownNamespace(),
		LeaderElectionReleaseOnCancel: true,
		Metrics:                       server.Options{BindAddress: "127.0.0.1:8080"},
		HealthProbeBindAddress:        "127.0.0.1:8081",
		PprofBindAddress:              "127.0.0.1:8082",
		Recorder:                      trace.New(0),
	}
}

// ownNamespace returns the namespace of the Pod in which the program runs, or else leaseNamespace.
func ownNamespace() string { return cmp.Or(podNamespace(), leaseNamespace) }

func podNamespace() string {
	name, _ := os.ReadFile(namespaceFile) // outside a Pod, there's no such file
	return strings.TrimSpace(string(name))
}

// makesNamespace reports whether the namespace of the lease may be missing, because it's the
// default one. In a Pod it exists, and RBAC forbids reading it.
func (s *settings) makesNamespace() bool {
	return s.manager.LeaderElection && podNamespace() == "" &&
		s.manager.LeaderElectionNamespace == leaseNamespace
}

func split(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

// lease names the lease in messages.
func (s *settings) lease() string {
	if !s.manager.LeaderElection {
		return "none"
	}
	return s.manager.LeaderElectionNamespace + "/" + s.manager.LeaderElectionID
}

func (s *settings) handler(logs io.Writer) slog.Handler {
	options := &slog.HandlerOptions{Level: s.level}
	if s.json {
		return slog.NewJSONHandler(logs, options)
	}
	return slog.NewTextHandler(logs, options)
}
