package envtest

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loopwright/loopwright/cluster"
)

// The environment variables apply to fields of an Environment that aren't set.
const (
	existingVariable     = "USE_EXISTING_CLUSTER"
	startTimeoutVariable = "KUBEBUILDER_CONTROLPLANE_START_TIMEOUT"
	stopTimeoutVariable  = "KUBEBUILDER_CONTROLPLANE_STOP_TIMEOUT"
	attachVariable       = "KUBEBUILDER_ATTACH_CONTROL_PLANE_OUTPUT"

	// defaultTimeout is for each process. controller-runtime gives each 20 seconds, and tries five
	// times.
	defaultTimeout = time.Minute
)

func (te *Environment) usesExistingCluster() (bool, error) {
	if te.UseExistingCluster != nil {
		return *te.UseExistingCluster, nil
	}
	return switchFromEnv(existingVariable)
}

func switchFromEnv(name string) (bool, error) {
	text := os.Getenv(name)
	if text == "" {
		return false, nil
	}
	on, err := strconv.ParseBool(text)
	if err != nil {
		return false, fmt.Errorf("%s=%q: want true or false", name, text)
	}
	return on, nil
}

// applySettings passes the settings of the environment to the processes.
func (te *Environment) applySettings() error {
	wanted := strings.TrimPrefix(te.DownloadBinaryAssetsVersion, "v")
	if compiled := cluster.KubernetesVersion(); wanted != "" && "v"+wanted != compiled {
		return fmt.Errorf("DownloadBinaryAssetsVersion is %s, but the control plane is "+
			"compiled, and is %s: leave the version out",
			te.DownloadBinaryAssetsVersion, compiled)
	}
	if err := durationFromEnv(&te.ControlPlaneStartTimeout, startTimeoutVariable); err != nil {
		return err
	}
	if err := durationFromEnv(&te.ControlPlaneStopTimeout, stopTimeoutVariable); err != nil {
		return err
	}
	server, etcd := te.ControlPlane.GetAPIServer(), te.ControlPlane.getEtcd()
	server.StartTimeout, server.StopTimeout = te.ControlPlaneStartTimeout, te.ControlPlaneStopTimeout
	etcd.StartTimeout, etcd.StopTimeout = te.ControlPlaneStartTimeout, te.ControlPlaneStopTimeout

	attach, err := switchFromEnv(attachVariable)
	if err != nil {
		return err
	}
	te.AttachControlPlaneOutput = te.AttachControlPlaneOutput || attach
	if !te.AttachControlPlaneOutput {
		return nil
	}
	if server.Out == nil {
		server.Out = os.Stdout
	}
	if server.Err == nil {
		server.Err = os.Stderr
	}
	if etcd.Out == nil {
		etcd.Out = os.Stdout
	}
	if etcd.Err == nil {
		etcd.Err = os.Stderr
	}
	return nil
}

func durationFromEnv(setting *time.Duration, name string) error {
	if *setting != 0 {
		return nil
	}
	*setting = defaultTimeout
	text := os.Getenv(name)
	if text == "" {
		return nil
	}
	duration, err := time.ParseDuration(text)
	if err != nil || duration <= 0 {
		return fmt.Errorf("%s=%q: want a duration, such as 40s or 2m", name, text)
	}
	*setting = duration
	return nil
}

// SetupEnvtestDefaultBinaryAssetsDirectory returns where the tool setup-envtest keeps its binaries.
// Nothing here uses them; it's here so that suites which name the directory still compile.
func SetupEnvtestDefaultBinaryAssetsDirectory() (string, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("looking for setup-envtest's directory: %w", err)
	}
	switch runtime.GOOS {
	case "darwin":
		return filepath.Join(home, "Library", "Application Support", "io.kubebuilder.envtest"), nil
	default:
		data := os.Getenv("XDG_DATA_HOME")
		if data == "" {
			data = filepath.Join(home, ".local", "share")
		}
		return filepath.Join(data, "kubebuilder-envtest"), nil
	}
}

// Arguments are a process's flags, as changes to its default ones. Each method returns the same
// Arguments, so that calls can be chained.
type Arguments struct {
	values map[string]Arg // by the flag's name, without dashes
}

// Arg changes one flag.
type Arg interface {
	// Append returns the flag with more values.
	Append(values ...string) Arg
	// Get returns the flag's values, given its default ones. nil omits the flag, and an empty list
	// passes it without a value.
	Get(defaults []string) []string
}

// EmptyArguments returns Arguments that change nothing.
func EmptyArguments() *Arguments { return &Arguments{} }

// Append adds values to the default ones, or to those that were set before. A flag with several
// values is passed several times.
func (a *Arguments) Append(name string, values ...string) *Arguments {
	return a.SetRaw(name, a.Get(name).Append(values...))
}

// AppendNoDefaults adds values to those that were set before, and drops the default ones.
func (a *Arguments) AppendNoDefaults(name string, values ...string) *Arguments {
	before, found := a.values[name]
	if !found {
		before = chosen(nil)
	}
	return a.SetRaw(name, before.Append(values...))
}

// Set replaces all values of a flag.
func (a *Arguments) Set(name string, values ...string) *Arguments {
	return a.SetRaw(name, chosen(values))
}

// Enable passes a flag without a value.
func (a *Arguments) Enable(name string) *Arguments { return a.SetRaw(name, bare{}) }

// Disable omits a flag.
func (a *Arguments) Disable(name string) *Arguments { return a.SetRaw(name, absent{}) }

// SetRaw sets a flag to an Arg of the caller's own.
func (a *Arguments) SetRaw(name string, value Arg) *Arguments {
	if a.values == nil {
		a.values = map[string]Arg{}
	}
	a.values[name] = value
	return a
}

// Get returns what was set for a flag.
func (a *Arguments) Get(name string) Arg {
	if value, found := a.values[name]; found {
		return value
	}
	return added(nil)
}

// AsStrings returns the command line, sorted by the flags' names.
func (a *Arguments) AsStrings(defaults map[string][]string) []string {
	names := slices.AppendSeq(slices.Collect(maps.Keys(defaults)), maps.Keys(a.values))
	slices.Sort(names)
	var line []string
	for _, name := range slices.Compact(names) {
		values := a.Get(name).Get(defaults[name])
		if values != nil && len(values) == 0 {
			line = append(line, "--"+name)
		}
		for _, value := range values {
			line = append(line, "--"+name+"="+value)
		}
	}
	return line
}

// added are values beside the default ones, and chosen replace them. absent omits a flag, and bare
// passes it without a value.
type (
	added  []string
	chosen []string
	absent struct{}
	bare   struct{}
)

func (v added) Append(values ...string) Arg    { return append(slices.Clip(v), values...) }
func (v added) Get(defaults []string) []string { return slices.Concat(defaults, v) }

func (v chosen) Append(values ...string) Arg { return append(slices.Clip(v), values...) }
func (v chosen) Get([]string) []string       { return v }

func (absent) Append(values ...string) Arg { return chosen(values) }
func (absent) Get([]string) []string       { return nil }

func (v bare) Append(...string) Arg { return v }
func (bare) Get([]string) []string  { return []string{} }
