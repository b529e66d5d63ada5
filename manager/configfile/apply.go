package configfile

import (
	"errors"
	"fmt"
	"time"

	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/config"
	"github.com/loopwright/loopwright/manager/controller"
)

// ApplyTo overrides a manager's options with the settings of the file that --config names, and with
// the other flags. Call it after the flags were parsed. If it returns an error, the options are
// unchanged.
//
//	flags := configfile.BindFlags(flag.CommandLine)
//	flag.Parse()
//	options := ctrl.Options{LeaderElectionID: "website.example.com"} // the defaults
//	err := flags.ApplyTo(&options)
//	...
//	mgr, err := ctrl.NewManager(config, options)
//
// Settings of controllers are applied as well, by name, to controllers that are made for the
// manager. Only the program knows which names exist: see Config.Known, which needs Load.
func (f *Flags) ApplyTo(options *manager.Options) error {
	settings := Config{Manager: managerOf(options)}
	if err := f.Load(&settings); err != nil {
		return err
	}
	settings.ApplyTo(options)
	return nil
}

// ApplyTo overrides a manager's options with the settings. A controller's settings are applied when
// it's made for the manager, over its own options, and over an Override that the manager's options
// have already. Don't change the Config after this call.
func (c *Config) ApplyTo(options *manager.Options) {
	c.Manager.applyTo(options)
	before := options.Controller.Override
	options.Controller.Override = func(name string) config.Override {
		settings := c.Controller(name)
		if before != nil {
			settings = settings.or(Controller(before(name)))
		}
		return config.Override(settings)
	}
}

func (m *Manager) applyTo(o *manager.Options) {
	apply(&o.Strict, m.Strict)
	if len(m.Namespaces) > 0 {
		namespaces := map[string]cache.Config{}
		for _, name := range m.Namespaces {
			namespaces[name] = o.Cache.DefaultNamespaces[name] // keep the program's settings for it
		}
		o.Cache.DefaultNamespaces = namespaces
	}
	applyText(&o.Metrics.BindAddress, m.MetricsBindAddress)
	applyText(&o.HealthProbeBindAddress, m.HealthProbeBindAddress)
	applyText(&o.PprofBindAddress, m.PprofBindAddress)
	applyLength(&o.Cache.SyncPeriod, m.SyncPeriod)
	applyLength(&o.GracefulShutdownTimeout, m.GracefulShutdownTimeout)
	l := m.LeaderElection
	apply(&o.LeaderElection, l.Enabled)
	applyText(&o.LeaderElectionID, l.ID)
	applyText(&o.LeaderElectionNamespace, l.Namespace)
	applyLength(&o.LeaseDuration, l.LeaseDuration)
	applyLength(&o.RenewDeadline, l.RenewDeadline)
	applyLength(&o.RetryPeriod, l.RetryPeriod)
	apply(&o.LeaderElectionReleaseOnCancel, l.ReleaseOnCancel)
}

// managerOf returns the values in the options that have to fit the settings.
func managerOf(o *manager.Options) Manager {
	id := o.LeaderElectionID
	if lock := o.LeaderElectionResourceLockInterface; id == "" && lock != nil {
		id = lock.Describe() // such a lock has its name already
	}
	return Manager{LeaderElection: LeaderElection{
		Enabled: &o.LeaderElection, ID: id, Namespace: o.LeaderElectionNamespace,
		LeaseDuration: o.LeaseDuration, RenewDeadline: o.RenewDeadline, RetryPeriod: o.RetryPeriod,
	}}
}

func applyText(to *string, value string) {
	if value != "" {
		*to = value
	}
}

func applyLength(to **time.Duration, value *time.Duration) {
	if value != nil {
		*to = value
	}
}

// Controller has the settings of a controller. Each has the name of its field in
// controller.Options, except for those that make up the rate limiter.
type Controller config.Override

func (c *Controller) fields() fields {
	return fields{
		"workers":               whole(&c.Workers, 1),
		"maxRetries":            whole(&c.MaxRetries, 0),
		"retryDelay":            duration(&c.RetryDelay, positive),
		"longestRetryDelay":     duration(&c.LongestRetryDelay, positive),
		"retriesPerSecond":      number(&c.RetriesPerSecond),
		"retryBurst":            whole(&c.RetryBurst, 1),
		"cacheSyncTimeout":      duration(&c.CacheSyncTimeout, positive),
		"reconciliationTimeout": duration(&c.ReconciliationTimeout, positive),
		"gracePeriod":           duration(&c.GracePeriod, anyLength),
		"waitFallback":          duration(&c.WaitFallback, anyLength),
		"drainOnStop":           boolean(&c.DrainOnStop),
	}
}

func (c Controller) validate() error {
	if c.RetryBurst != nil && c.RetriesPerSecond == nil {
		return errors.New("retryBurst has no effect without retriesPerSecond; set both")
	}
	first := or(c.RetryDelay, 5*time.Millisecond)
	longest := or(c.LongestRetryDelay, 1000*time.Second)
	if first > longest {
		return fmt.Errorf("retryDelay (%v) is longer than longestRetryDelay (%v)", first, longest)
	}
	return nil
}

// Controller returns the settings of the controller with this name, with ControllerDefaults filled
// in.
func (c *Config) Controller(name string) Controller {
	own := Controller{}
	if set := c.Controllers[name]; set != nil {
		own = *set
	}
	return own.or(c.ControllerDefaults)
}

// or fills in what isn't set.
func (c Controller) or(d Controller) Controller {
	complete(&c.Workers, d.Workers)
	complete(&c.MaxRetries, d.MaxRetries)
	complete(&c.RetryDelay, d.RetryDelay)
	complete(&c.LongestRetryDelay, d.LongestRetryDelay)
	complete(&c.RetriesPerSecond, d.RetriesPerSecond)
	complete(&c.RetryBurst, d.RetryBurst)
	complete(&c.CacheSyncTimeout, d.CacheSyncTimeout)
	complete(&c.ReconciliationTimeout, d.ReconciliationTimeout)
	complete(&c.GracePeriod, d.GracePeriod)
	complete(&c.WaitFallback, d.WaitFallback)
	complete(&c.DrainOnStop, d.DrainOnStop)
	return c
}

func complete[V any](value **V, otherwise *V) {
	if *value == nil {
		*value = otherwise
	}
}

// ApplyTo overrides the options with the settings. Each call makes a new rate limiter, for one
// controller.
func (c Controller) ApplyTo(options *controller.Options) { options.Override(config.Override(c)) }

func apply[V any](to *V, value *V) {
	if value != nil {
		*to = *value
	}
}
