package configfile

import (
	"time"

	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/controller"
)

// ApplyTo overrides a manager's options with the settings of the file that --config names, and those with
// the other flags. Call it after the flags were parsed. The options are unchanged if there is an error.
//
//	flags := configfile.BindFlags(flag.CommandLine)
//	flag.Parse()
//	options := ctrl.Options{LeaderElectionID: "website.example.com"} // the defaults
//	err := flags.ApplyTo(&options)
//	...
//	mgr, err := ctrl.NewManager(config, options)
//
// Controllers that are made for the manager have their settings, too, by their names. Whether each name is
// that of a controller, only the program knows: see Config.Known, which needs Load.
func (f *Flags) ApplyTo(options *manager.Options) error {
	settings := Config{Manager: managerOf(options)}
	if err := f.Load(&settings); err != nil {
		return err
	}
	settings.ApplyTo(options)
	return nil
}

// ApplyTo overrides a manager's options with what is set. The settings of controllers are applied when a
// controller is made for the manager, after what its own options say. The Config must not be changed
// any more.
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
	if m.Namespaces != nil {
		namespaces := map[string]cache.Config{}
		for _, name := range m.Namespaces {
			namespaces[name] = o.Cache.DefaultNamespaces[name] // the program may have settings for it
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

// managerOf is what the options say already about settings that must fit together.
func managerOf(o *manager.Options) Manager {
	id := o.LeaderElectionID
	if lock := o.LeaderElectionResourceLockInterface; id == "" && lock != nil {
		id = lock.Describe() // such a lock needs no other name
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
