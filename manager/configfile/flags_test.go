package configfile

import (
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/tests/inorder"
)

// bound parses arguments; FILE stands for the path of a file with this content.
func bound(t *testing.T, content string, defaults Config, args ...string) (Config, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	fs := flag.NewFlagSet("test", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	flags := BindFlags(fs)
	for i, arg := range args {
		if arg == "FILE" {
			args[i] = path
		}
	}
	if err := fs.Parse(args); err != nil {
		return defaults, err
	}
	err := flags.Load(&defaults)
	return defaults, err
}

func TestFlagsOverrideTheFileAndTheFileOverridesDefaults(t *testing.T) {
	defaults := Config{
		Manager: Manager{MetricsBindAddress: ":1", HealthProbeBindAddress: ":1",
			PprofBindAddress: ":1"},
		Controllers: map[string]*Controller{"website": {Workers: new(1), MaxRetries: new(1),
			RetryDelay: new(time.Second)}},
	}
	file := header +
		"manager: {metricsBindAddress: \":2\", healthProbeBindAddress: \":2\"}\ncontrollers: " +
		"{website: {workers: 2, maxRetries: 2}}\n"
	for name, args := range inorder.Map(map[string][]string{
		"flags before the file": {"--metrics-bind-address=:3", "--set",
			"controllers.website.workers=3", "--config", "FILE"},
		"flags after the file": {"--config=FILE", "--metrics-bind-address=:4",
			"--metrics-bind-address", ":3", "--set=controllers.website.workers=3"},
	}) {
		t.Run(name, func(t *testing.T) {
			args = append([]string(nil), args...)
			if args[0] == "--config=FILE" {
				args = append([]string{"--config", "FILE"}, args[1:]...)
			}
			c, err := bound(t, file, defaults, args...)
			require.NoError(t, err)
			require.Equal(t, []string{":3", ":2", ":1"},
				[]string{c.Manager.MetricsBindAddress, c.Manager.HealthProbeBindAddress,
					c.Manager.PprofBindAddress})
			require.Equal(t, Controller{Workers: new(3), MaxRetries: new(2),
				RetryDelay: new(time.Second)}, c.Controller("website"))
			require.Equal(t, 1, *defaults.Controllers["website"].Workers,
				"the defaults themselves are not changed")
		})
	}
}

func TestEachFlagSetsWhatItsNameSays(t *testing.T) {
	c, err := bound(t, "", Config{}, "--metrics-bind-address=0", "--health-probe-bind-address=:1",
		"--pprof-bind-address=:2", "--leader-elect",
		"--leader-election-id=a", "--leader-election-namespace=b", "--namespaces=shop, bank", "--graceful-shutdown-timeout=1m",
		"--set=controllerDefaults.retriesPerSecond=3", "--set=controllerDefaults.drainOnStop=true", "--set=manager.leaderElection.releaseOnCancel=false")
	require.NoError(t, err)
	require.Equal(t, Manager{
		MetricsBindAddress: "0", HealthProbeBindAddress: ":1", PprofBindAddress: ":2", Namespaces: []string{"shop", "bank"}, GracefulShutdownTimeout: new(time.Minute),
		LeaderElection: LeaderElection{Enabled: new(true), ID: "a", Namespace: "b",
			ReleaseOnCancel: new(false)},
	}, c.Manager)
	require.Equal(t, Controller{RetriesPerSecond: new(3.0), DrainOnStop: new(true)},
		c.Controller("any"))
}

func TestAWrongFlagIsAnErrorAtOnce(t *testing.T) {
	for arg, want := range inorder.Map(map[string]string{
		"--set=workers":                                    "want PATH=VALUE",
		"--set=controllers.a.workers=four":                 `--set: controllers.a.workers: want a whole number of at least 1, have "four"`,
		"--set=controllers.a.workers=99999999999999999999": `want a whole number of at least 1, have "99999999999999999999"`,
		"--set=controllerDefaults.retriesPerSecond=many":   `want a number above 0, have "many"`,
		"--set=controllers.a.worker=4":                     "there is no such setting",
		"--set=manager=4":                                  `want keys and values, have "4"`,
		"--set=apiVersion=v1":                              "there is no such setting",
		"--metrics-bind-address=here": "--metrics-bind-address: " +
			"manager.metricsBindAddress: \"here\": want host and port",
		"--namespaces=a,,b":                     "manager.namespaces[1]",
		"--leader-elect=perhaps":                "want true or false",
		"--graceful-shutdown-timeout=30":        "want a duration with its unit",
		"--set=controllerDefaults.retryDelay=x": "want a duration with its unit",
	}) {
		_, err := bound(t, "", Config{}, arg)
		require.ErrorContains(t, err, want, arg)
	}
}

// A lease that is only wrong together with the file is found when both are there, and a file that
// is only right together with a flag is right.
func TestTheWholeMustFitTogether(t *testing.T) {
	file := header + "manager: {leaderElection: {enabled: true}}\n"
	_, err := bound(t, file, Config{}, "--config", "FILE", "--leader-election-id=a")
	require.NoError(t, err)
	_, err = bound(t, file, Config{}, "--config", "FILE")
	require.ErrorContains(t, err, "config.yaml: manager.leaderElection.id: it is missing")
	_, err = bound(t, file, Config{}, "--config", "FILE", "--set=manager.namespaces=a")
	require.ErrorContains(t, err, "config.yaml and the command line: manager.leaderElection.id")
	_, err = bound(t, "", Config{}, "--leader-elect")
	require.ErrorContains(t, err, "settings of the command line: manager.leaderElection.id")
	_, err = bound(t, "", Config{}, "--config", "FILE")
	require.ErrorContains(t, err, "the file is no YAML, or empty")
}

func TestAProgramsOwnFlagsAreLeftAlone(t *testing.T) {
	fs := flag.NewFlagSet("test", flag.ContinueOnError)
	own := fs.String("metrics-bind-address", ":9", "mine")
	fs.String("config", "", "mine")
	fs.String("set", "", "mine")
	flags := BindFlags(fs)
	require.NoError(t, fs.Parse([]string{"--metrics-bind-address=anything"}))
	var c Config
	require.NoError(t, flags.Load(&c))
	require.Equal(t, "anything", *own)
	require.Empty(t, c.Manager.MetricsBindAddress)
}
