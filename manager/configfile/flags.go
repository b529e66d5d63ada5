package configfile

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// shortcuts are flags for settings that are often set on a command line. The first three have the
// names that kubebuilder's programs use.
var shortcuts = []struct {
	name, path, usage string
	boolean           bool
}{
	{"metrics-bind-address", "manager.metricsBindAddress",
		`host and port of the metrics, or "0" for none`, false},
	{"health-probe-bind-address", "manager.healthProbeBindAddress",
		`host and port of the health probes, or "0" for none`, false},
	{"leader-elect", "manager.leaderElection.enabled", "let only one replica reconcile", true},
	{"leader-election-id", "manager.leaderElection.id", "name of the lease", false},
	{"leader-election-namespace", "manager.leaderElection.namespace",
		"namespace of the lease", false},
	{"pprof-bind-address", "manager.pprofBindAddress",
		`host and port of pprof, or "0" for none`, false},
	{"namespaces", "manager.namespaces", "namespaces to watch, separated by commas", false},
	{"graceful-shutdown-timeout", "manager.gracefulShutdownTimeout",
		"how long a stop may take", false},
}

// Flags are flags that override a file, whether they come before --config or after it. Of two flags
// for one setting, the later one counts.
type Flags struct {
	file string
	sets []setting
}

// setting is one flag as it was given.
type setting struct{ flag, path, value string }

// BindFlags adds flags: --config for the file, --set PATH=VALUE for any setting, as in
//
//	--set controllers.website.workers=4
//
// and a few for common settings, such as --metrics-bind-address. It doesn't redefine a flag that
// the program has defined already. A controller with a dot in its name needs the file, because a dot
// ends a name in PATH.
func BindFlags(fs *flag.FlagSet) *Flags {
	f := &Flags{}
	add := func(name string, bind func()) {
		if fs.Lookup(name) == nil {
			bind()
		}
	}
	add("config", func() {
		fs.StringVar(&f.file, "config", "",
			"file with the settings of the manager and its controllers")
	})
	add("set", func() {
		const usage = "a setting, as it would be in the file: PATH=VALUE, such as " +
			"controllers.website.workers=4; may be given several times"
		fs.Func("set", usage, func(given string) error {
			path, value, found := strings.Cut(given, "=")
			if !found {
				return fmt.Errorf("want PATH=VALUE, such as controllers.website.workers=4")
			}
			return f.set(setting{"--set", path, value})
		})
	})
	for _, s := range shortcuts {
		set := func(value string) error { return f.set(setting{"--" + s.name, s.path, value}) }
		add(s.name, func() {
			if s.boolean {
				fs.BoolFunc(s.name, s.usage, set)
			} else {
				fs.Func(s.name, s.usage, set)
			}
		})
	}
	return f
}

// set stores a setting, and returns an error at once if it can't be right.
func (f *Flags) set(s setting) error {
	scratch := (&Config{}).clone()
	if err := s.apply(&scratch); err != nil {
		return err
	}
	f.sets = append(f.sets, s)
	return nil
}

// apply decodes the value as if it were in a file.
func (s setting) apply(to *Config) error {
	n := &yaml.Node{Kind: yaml.ScalarNode, Value: s.value}
	keys := strings.Split(s.path, ".")
	for _, key := range slices.Backward(keys) {
		n = &yaml.Node{
			Kind: yaml.MappingNode, Content: []*yaml.Node{{Kind: yaml.ScalarNode, Value: key}, n},
		}
	}
	d := &decoding{name: s.flag}
	section(to.fields())(d, "", n)
	return errors.Join(d.problems...)
}

// Load reads the file that --config names, if there's one, and then applies the other flags. Call
// it after the flags were parsed. If it returns an error, the Config is unchanged.
func (f *Flags) Load(into *Config) error {
	next := into.clone()
	if f.file != "" {
		if err := next.merge(f.file); err != nil {
			return err
		}
	}
	for _, s := range f.sets {
		if err := s.apply(&next); err != nil {
			return err
		}
	}
	if err := next.validate(); err != nil {
		return fmt.Errorf("settings of %s: %w", f.origin(), err)
	}
	*into = next
	return nil
}

// origin names the sources of the settings, for messages.
func (f *Flags) origin() string {
	switch {
	case f.file == "":
		return "the command line"
	case len(f.sets) == 0:
		return f.file
	}
	return f.file + " and the command line"
}
