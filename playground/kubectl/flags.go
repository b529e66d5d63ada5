package kubectl

import (
	"io"

	"github.com/spf13/pflag"
)

// options are the flags of all commands.
type options struct {
	namespace     string
	allNamespaces bool
	output        string
	selector      string
	watch         bool
	watchOnly     bool
	noHeaders     bool
	showLabels    bool

	image    string
	replicas int32
	port     int32
	name     string
	filename string

	overwrite   bool
	all         bool
	cascade     string
	gracePeriod int64
	force, now  bool
	wait        bool
	revision    int64
	toRevision  int64
}

// flagsByName define a flag, by its name in commands.
var flagsByName = map[string]func(*pflag.FlagSet, *options){
	"namespace": func(f *pflag.FlagSet, o *options) {
		f.StringVarP(&o.namespace, "namespace", "n", "default", "the namespace")
	},
	"all-namespaces": func(f *pflag.FlagSet, o *options) {
		f.BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "the objects of all namespaces")
	},
	"output": func(f *pflag.FlagSet, o *options) {
		f.StringVarP(&o.output, "output", "o", "", "wide, yaml, json or name")
	},
	"selector": func(f *pflag.FlagSet, o *options) {
		f.StringVarP(&o.selector, "selector", "l", "", "labels, as in app=web")
	},
	"watch": func(f *pflag.FlagSet, o *options) {
		f.BoolVarP(&o.watch, "watch", "w", false, "go on with what changes")
	},
	"watch-only": func(f *pflag.FlagSet, o *options) {
		f.BoolVar(&o.watchOnly, "watch-only", false, "only what changes")
	},
	"no-headers": func(f *pflag.FlagSet, o *options) {
		f.BoolVar(&o.noHeaders, "no-headers", false, "leave out the headers")
	},
	"show-labels": func(f *pflag.FlagSet, o *options) {
		f.BoolVar(&o.showLabels, "show-labels", false, "a column with the labels")
	},
	"image": func(f *pflag.FlagSet, o *options) {
		f.StringVar(&o.image, "image", "", "the image of the container, as in web:1")
	},
	"replicas": func(f *pflag.FlagSet, o *options) {
		f.Int32VarP(&o.replicas, "replicas", "r", -1, "how many Pods")
	},
	"port": func(f *pflag.FlagSet, o *options) {
		f.Int32Var(&o.port, "port", 0, "the port")
	},
	"name": func(f *pflag.FlagSet, o *options) {
		f.StringVar(&o.name, "name", "", "the name of the Service")
	},
	"filename": func(f *pflag.FlagSet, o *options) {
		f.StringVarP(&o.filename, "filename", "f", "", "-, which is the text box")
	},
	"overwrite": func(f *pflag.FlagSet, o *options) {
		f.BoolVar(&o.overwrite, "overwrite", false, "replace a label that has another value")
	},
	"all": func(f *pflag.FlagSet, o *options) {
		f.BoolVar(&o.all, "all", false, "all objects of the kind in the namespace")
	},
	"cascade": func(f *pflag.FlagSet, o *options) {
		f.StringVar(
			&o.cascade,
			"cascade",
			"background",
			"background, foreground or orphan: what happens to what it owns",
		)
		f.Lookup("cascade").NoOptDefVal = "background"
	},
	"grace-period": func(f *pflag.FlagSet, o *options) {
		f.Int64Var(&o.gracePeriod, "grace-period", -1, "seconds that a Pod has to end")
	},
	"force": func(f *pflag.FlagSet, o *options) {
		f.BoolVar(&o.force, "force", false, "with --grace-period=0: do not wait for a kubelet")
	},
	"now": func(f *pflag.FlagSet, o *options) {
		f.BoolVar(&o.now, "now", false, "a grace period of one second")
	},
	"wait": func(f *pflag.FlagSet, o *options) {
		f.BoolVar(&o.wait, "wait", true, "until it is gone")
	},
	"watch-rollout": func(f *pflag.FlagSet, o *options) {
		f.BoolVarP(&o.watch, "watch", "w", true, "until it is done")
	},
	"revision": func(f *pflag.FlagSet, o *options) {
		f.Int64Var(&o.revision, "revision", 0, "show this revision's template")
	},
	"to-revision": func(f *pflag.FlagSet, o *options) {
		f.Int64Var(&o.toRevision, "to-revision", 0, "0 is the one before")
	},
}

// flags returns the flags of a command, which parse into o.
func (o *options) flags(c *command) *pflag.FlagSet {
	*o = options{namespace: "default"}
	set := pflag.NewFlagSet(c.name, pflag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.SortFlags = false
	for _, name := range c.flags {
		flagsByName[name](set, o)
	}
	return set
}
