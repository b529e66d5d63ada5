// Package configfile reads a manager's settings from a YAML file, so that they can be changed
// without a new build.
//
// A program has defaults in its options. A file overrides the settings it names, and flags override
// the file; Flags.ApplyTo does both. Each controller's settings are found by its name.
//
//	apiVersion: config.loopwright.dev/v1
//	kind: ManagerConfiguration
//	manager:
//	  namespaces: [shop, bank]
//	  metricsBindAddress: 127.0.0.1:8080
//	  leaderElection:
//	    enabled: true
//	    id: website.example.com
//	controllerDefaults:
//	  reconciliationTimeout: 1m
//	controllers:
//	  website:
//	    workers: 4
//
// An unknown key, a duplicate key, and a value of the wrong type are errors. All of them are
// reported, with their lines: a misspelled setting must not be ignored.
//
// Neighbours: below it are the YAML parser, and the options of the manager and the controllers.
// Above it is main.
package configfile

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// The apiVersion and kind that a file must have.
const (
	APIVersion = "config.loopwright.dev/v1"
	Kind       = "ManagerConfiguration"
)

// Config is the content of a file. A field that is nil or empty isn't set, and the manager's or
// the controller's default applies.
type Config struct {
	Manager Manager
	// ControllerDefaults apply to every controller, under its own settings.
	ControllerDefaults Controller
	// Controllers are the settings by the controllers' names.
	Controllers map[string]*Controller
}

// Manager has the settings of the manager. Each has the name of its field in manager.Options, or in
// the options nested there.
type Manager struct {
	// Strict chooses the safer default for everything that isn't set.
	Strict *bool
	// Namespaces are the ones that the cache watches: Cache.DefaultNamespaces.
	Namespaces []string
	// Addresses are host and port; the host may be empty. "0" switches a server off.
	MetricsBindAddress, HealthProbeBindAddress, PprofBindAddress string
	// SyncPeriod is Cache.SyncPeriod: how often every object is reconciled although it hasn't
	// changed.
	SyncPeriod *time.Duration
	// GracefulShutdownTimeout is how long a stop may take; a negative value means without limit.
	GracefulShutdownTimeout *time.Duration
	LeaderElection          LeaderElection
}

// LeaderElection has the settings of the lease.
type LeaderElection struct {
	Enabled                                   *bool
	ID, Namespace                             string
	LeaseDuration, RenewDeadline, RetryPeriod *time.Duration
	ReleaseOnCancel                           *bool
}

// Load reads a file into the Config. Settings that the file doesn't name are kept. If it returns
// an error, the Config is unchanged.
func Load(path string, into *Config) error { return (&Flags{file: path}).Load(into) }

// Parse is Load for content that was read already. The name is used in messages.
func Parse(name string, content []byte, into *Config) error {
	next, err := into.with(name, content)
	if err != nil {
		return err
	}
	if err := next.validate(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	*into = next
	return nil
}

// merge is Load without validate: flags may still correct values that don't fit together.
func (c *Config) merge(path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the settings: %w", err)
	}
	next, err := c.with(path, content)
	if err == nil {
		*c = next
	}
	return err
}

func (c *Config) with(name string, content []byte) (Config, error) {
	var document yaml.Node
	decoder := yaml.NewDecoder(strings.NewReader(string(content)))
	if err := decoder.Decode(&document); err != nil {
		return Config{}, fmt.Errorf("%s: the file is no YAML, or empty: %w; it begins with "+
			"apiVersion: %s and kind: %s", name, err, APIVersion, Kind)
	}
	if err := decoder.Decode(&yaml.Node{}); err != io.EOF { // another one may be broken, too
		return Config{}, fmt.Errorf("%s: the file has several documents, and may have one", name)
	}
	d := &decoding{name: name}
	d.header(document.Content[0])
	next := c.clone()
	if d.problems == nil {
		section(next.file())(d, "", document.Content[0])
	}
	return next, errors.Join(d.problems...)
}

// clone copies what Load may change. It doesn't have to copy the values behind pointers: Load replaces
// those and never changes them.
func (c *Config) clone() Config {
	next := *c
	next.Controllers = map[string]*Controller{}
	for name, controller := range c.Controllers {
		if controller == nil {
			continue // not set
		}
		copied := *controller
		next.Controllers[name] = &copied
	}
	return next
}

// file maps the keys of the file to the fields of the Config.
func (c *Config) file() fields {
	all := c.fields()
	all["apiVersion"], all["kind"] = ignored, ignored // header has checked them
	return all
}

func (c *Config) fields() fields {
	return fields{
		"manager":            section(c.Manager.fields()),
		"controllerDefaults": section(c.ControllerDefaults.fields()),
		"controllers":        entries(c.Controllers, (*Controller).fields),
	}
}

func (m *Manager) fields() fields {
	return fields{
		"strict":                  boolean(&m.Strict),
		"namespaces":              list(&m.Namespaces, namespace),
		"metricsBindAddress":      text(&m.MetricsBindAddress, address),
		"healthProbeBindAddress":  text(&m.HealthProbeBindAddress, address),
		"pprofBindAddress":        text(&m.PprofBindAddress, address),
		"syncPeriod":              duration(&m.SyncPeriod, positive),
		"gracefulShutdownTimeout": duration(&m.GracefulShutdownTimeout, anyLength),
		"leaderElection":          section(m.LeaderElection.fields()),
	}
}

func (l *LeaderElection) fields() fields {
	return fields{
		"enabled":         boolean(&l.Enabled),
		"id":              text(&l.ID, notEmpty),
		"namespace":       text(&l.Namespace, namespace),
		"leaseDuration":   duration(&l.LeaseDuration, positive),
		"renewDeadline":   duration(&l.RenewDeadline, positive),
		"retryPeriod":     duration(&l.RetryPeriod, positive),
		"releaseOnCancel": boolean(&l.ReleaseOnCancel),
	}
}

// validate checks values that depend on each other.
func (c *Config) validate() error {
	l := c.Manager.LeaderElection
	if l.Enabled != nil && *l.Enabled && l.ID == "" {
		return errors.New("manager.leaderElection.id: it is missing; all replicas of a program " +
			"have the same, such as website.example.com")
	}
	// A value that isn't set has the manager's default.
	lease := or(l.LeaseDuration, 15*time.Second)
	renew := or(l.RenewDeadline, 10*time.Second)
	retry := or(l.RetryPeriod, 2*time.Second)
	if lease <= renew || renew <= retry {
		return fmt.Errorf("manager.leaderElection: leaseDuration (%v) must be longer than "+
			"renewDeadline (%v), and that longer than retryPeriod (%v)", lease, renew, retry)
	}
	if err := c.ControllerDefaults.validate(); err != nil {
		return fmt.Errorf("controllerDefaults: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Controllers)) {
		if err := c.Controller(name).validate(); err != nil {
			return fmt.Errorf("controllers.%s: %w", name, err)
		}
	}
	return nil
}

func or[V any](value *V, otherwise V) V {
	if value == nil {
		return otherwise
	}
	return *value
}

// Known returns an error if there are settings for a controller that isn't among these names: such
// settings would have no effect.
func (c *Config) Known(names ...string) error {
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(c.Controllers)) {
		if !slices.Contains(names, name) {
			problems = append(problems,
				fmt.Errorf("controllers.%s: there is no such controller; there are %s",
					name, strings.Join(names, ", ")))
		}
	}
	return errors.Join(problems...)
}
