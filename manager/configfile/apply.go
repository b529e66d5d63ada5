package configfile

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/time/rate"

	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/workqueue"
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
// it is made for the manager, over its own options. Do not change the Config after this call.
func (c *Config) ApplyTo(options *manager.Options) {
	c.Manager.applyTo(options)
	before := options.OverrideControllerOptions
	options.OverrideControllerOptions = func(name string, o *controller.Options) {
		if before != nil {
			before(name, o)
		}
		c.Controller(name).ApplyTo(o)
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
type Controller struct {
	// Workers is MaxConcurrentReconciles.
	Workers *int
	// MaxRetries is how often a request is retried; 0 means without limit.
	MaxRetries *int
	// RetryDelay is the delay before the first retry. It doubles with each retry, up to
	// LongestRetryDelay. The defaults are 5 ms and 1000 s.
	RetryDelay, LongestRetryDelay *time.Duration
	// RetriesPerSecond limits the retries of all requests together; RetryBurst is how many may
	// happen at once, 1 by default. Without RetriesPerSecond there is no limit.
	RetriesPerSecond *float64
	RetryBurst       *int

	CacheSyncTimeout, ReconciliationTimeout, GracePeriod, WaitFallback *time.Duration
	DrainOnStop                                                        *bool
}

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
	d := c.ControllerDefaults
	complete(&own.Workers, d.Workers)
	complete(&own.MaxRetries, d.MaxRetries)
	complete(&own.RetryDelay, d.RetryDelay)
	complete(&own.LongestRetryDelay, d.LongestRetryDelay)
	complete(&own.RetriesPerSecond, d.RetriesPerSecond)
	complete(&own.RetryBurst, d.RetryBurst)
	complete(&own.CacheSyncTimeout, d.CacheSyncTimeout)
	complete(&own.ReconciliationTimeout, d.ReconciliationTimeout)
	complete(&own.GracePeriod, d.GracePeriod)
	complete(&own.WaitFallback, d.WaitFallback)
	complete(&own.DrainOnStop, d.DrainOnStop)
	return own
}

func complete[V any](value **V, otherwise *V) {
	if *value == nil {
		*value = otherwise
	}
}

// ApplyTo overrides the options with the settings. Each call makes a new rate limiter, for one
// controller.
func (c Controller) ApplyTo(options *controller.Options) {
	apply(&options.MaxConcurrentReconciles, c.Workers)
	apply(&options.MaxRetries, c.MaxRetries)
	apply(&options.CacheSyncTimeout, c.CacheSyncTimeout)
	apply(&options.ReconciliationTimeout, c.ReconciliationTimeout)
	apply(&options.GracePeriod, c.GracePeriod)
	apply(&options.WaitFallback, c.WaitFallback)
	apply(&options.DrainOnStop, c.DrainOnStop)
	if limiter := c.rateLimiter(); limiter != nil {
		options.RateLimiter = limiter
	}
}

func apply[V any](to *V, value *V) {
	if value != nil {
		*to = *value
	}
}

// rateLimiter returns nil if there are no settings for retries.
func (c Controller) rateLimiter() workqueue.TypedRateLimiter[reconcile.Request] {
	if c.RetryDelay == nil && c.LongestRetryDelay == nil && c.RetriesPerSecond == nil {
		return nil
	}
	delays := &workqueue.Exponential[reconcile.Request]{
		Base: or(c.RetryDelay, 0), Limit: or(c.LongestRetryDelay, 0),
	}
	if c.RetriesPerSecond == nil {
		return delays
	}
	bucket := workqueue.Bucket[reconcile.Request]{
		Limiter: rate.NewLimiter(rate.Limit(*c.RetriesPerSecond), or(c.RetryBurst, 1)),
	}
	return workqueue.MaxOf[reconcile.Request]{delays, bucket}
}
