package configfile

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/tests/inorder"
	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/reconcile"
)

const header = "apiVersion: config.loopwright.dev/v1\nkind: ManagerConfiguration\n"

const everything = header + `
manager:
  strict: true
  namespaces: [shop, bank]
  metricsBindAddress: ":8080"
  healthProbeBindAddress: "[::1]:8081"
  pprofBindAddress: "0"
  syncPeriod: 10h
  gracefulShutdownTimeout: -1s
  leaderElection:
    enabled: true
    id: website.example.com
    namespace: system
    leaseDuration: 30s
    renewDeadline: 20s
    retryPeriod: 5s
    releaseOnCancel: true
controllerDefaults: &quick
  workers: 2
  reconciliationTimeout: 1m
controllers:
  website:
    workers: 4
    maxRetries: 0
    retryDelay: 10ms
    longestRetryDelay: 1m
    retriesPerSecond: 2.5
    retryBurst: 3
    cacheSyncTimeout: 3m
    gracePeriod: 5s
    waitFallback: -1s
    drainOnStop: true
  shop: *quick
`

func parse(t *testing.T, content string) Config {
	t.Helper()
	var c Config
	require.NoError(t, Parse("config.yaml", []byte(content), &c))
	return c
}

func TestEverySettingOfTheFileArrives(t *testing.T) {
	c := parse(t, everything)
	require.Equal(t, Manager{
		Strict:             new(true),
		Namespaces:         []string{"shop", "bank"},
		MetricsBindAddress: ":8080", HealthProbeBindAddress: "[::1]:8081", PprofBindAddress: "0",
		SyncPeriod: new(10 * time.Hour), GracefulShutdownTimeout: new(-time.Second),
		LeaderElection: LeaderElection{
			Enabled: new(true), ID: "website.example.com", Namespace: "system",
			LeaseDuration: new(30 * time.Second), RenewDeadline: new(20 * time.Second), RetryPeriod: new(5 * time.Second),
			ReleaseOnCancel: new(true),
		},
	}, c.Manager)
	require.Equal(t, Controller{
		Workers: new(4), MaxRetries: new(0), RetryDelay: new(10 * time.Millisecond), LongestRetryDelay: new(time.Minute),
		RetriesPerSecond: new(2.5), RetryBurst: new(3),
		CacheSyncTimeout: new(3 * time.Minute), ReconciliationTimeout: new(time.Minute), GracePeriod: new(5 * time.Second),
		WaitFallback: new(-time.Second), DrainOnStop: new(true),
	}, c.Controller("website"), "with the default for what it does not say")
	require.Equal(t, Controller{Workers: new(2), ReconciliationTimeout: new(time.Minute)},
		c.Controller("shop"))
	require.Equal(t, c.Controller("shop"), c.Controller("another"))
	require.Equal(t, 1, len(parse(t, header+"controllers: {a: {workers: 1}}").Controllers))
	require.Equal(t, Config{Controllers: map[string]*Controller{}}, parse(t, header),
		"a file may say nothing")
}

func TestAMistakeIsAnErrorThatSaysWhereItIs(t *testing.T) {
	for name, c := range inorder.Map(map[string]struct{ content, want string }{
		"another kind": {"apiVersion: v1\nkind: ConfigMap\ndata: {}\n",
			`config.yaml:1: apiVersion "v1" and kind "ConfigMap"; they must be "config.loopwright.dev/v1" and "ManagerConfiguration"`},
		"another kind of ours": {"apiVersion: config.loopwright.dev/v1\nkind: Other\n",
			`apiVersion "config.loopwright.dev/v1" and kind "Other"; they must be`},
		"a list of the right words": {"[apiVersion, config.loopwright.dev/v1, kind, " +
			"ManagerConfiguration]", `config.yaml:1: apiVersion "" and kind ""`},
		"a version that is to come": {"apiVersion: config.loopwright.dev/v2\nkind: " +
			"ManagerConfiguration\n", `apiVersion "config.loopwright.dev/v2"`},
		"no mapping": {"hello", "config.yaml:1: apiVersion"},
		"nothing": {"",
			"config.yaml: the file is no YAML, or empty: EOF; it begins with apiVersion"},
		"no YAML": {header + "a: [",
			"the file is no YAML, or empty: yaml: line 3"},
		"two documents": {header + "---\n" + header, "several documents"},
		"an unknown key": {header + "manager:\n  metricBindAddress: x\n",
			"config.yaml:4: manager.metricBindAddress: there is no such setting; there are " +
				"gracefulShutdownTimeout, healthProbeBindAddress, leaderElection"},
		"an unknown key at the top": {header + "managers: {}\n",
			"config.yaml:3: managers: there is no such setting; there are apiVersion, " +
				"controllerDefaults, controllers, kind, manager"},
		"an unknown key deep down": {header + "controllers:\n  website:\n\n    worker: 1",
			"config.yaml:6: controllers.website.worker: there is no such setting"},
		"a key twice": {header +
			"controllers:\n  a: {workers: 1}\n  b: {}\n  a: {workers: 2}\n",
			"config.yaml:6: controllers.a: it is in line 4 already"},
		"a text for a number": {header + "controllers:\n  a:\n    workers: four",
			`config.yaml:5: controllers.a.workers: want a whole number of at least 1, have "four"`},
		"a number in quotes": {header + "controllers:\n  a:\n    workers: \"4\"",
			`config.yaml:5: controllers.a.workers: want a whole number of at least 1, have "4"`},
		"too small a number": {header + "controllers: {a: {workers: 0}}",
			`config.yaml:3: controllers.a.workers: want a whole number of at least 1, have "0"`},
		"half a worker": {header + "controllers: {a: {workers: 0.5}}",
			`want a whole number of at least 1, have "0.5"`},
		"too large a number": {header + "controllers: {a: {workers: 99999999999999999999}}",
			`want a whole number`},
		"no retries at all": {header + "controllers: {a: {retriesPerSecond: 0}}",
			`want a number above 0, have "0"`},
		"infinitely many retries": {header + "controllers: {a: {retriesPerSecond: .inf}}",
			`want a number above 0, have ".inf"`},
		"too many retries": {header + "controllers: {a: {retriesPerSecond: 1000000001}}",
			`want a number above 0, have "1000000001"`},
		"a duration without unit": {header + "manager: {syncPeriod: 30}",
			`config.yaml:3: manager.syncPeriod: want a duration with its unit, such as "30s" or "5m", have "30"`},
		"a duration that is not": {header + "manager: {syncPeriod: soon}",
			`want a duration with its unit, such as "30s" or "5m", have "soon"`},
		"a duration of nothing": {header + "manager: {syncPeriod: 0s}",
			`"0s": it must be longer than 0`},
		"yes for true": {header + "manager: {leaderElection: {enabled: \"yes\"}}",
			`config.yaml:3: manager.leaderElection.enabled: want true or false, have "yes"`},
		"a number for a text": {header + "manager: {metricsBindAddress: 0}",
			`want a text (in quotes, if it looks like a number), have "0"`},
		"an address without port": {header + "manager: {metricsBindAddress: localhost}",
			`"localhost": want host and port`},
		"a port that is not": {header + "manager: {metricsBindAddress: \":http\"}",
			`":http": want host and port`},
		"a port with a letter": {header + "manager: {metricsBindAddress: \":1a\"}",
			`":1a": want host and port`},
		"too large a port": {header + "manager: {metricsBindAddress: \":65536\"}",
			`":65536": want host and port`},
		"a text for a list": {header + "manager: {namespaces: shop}",
			`config.yaml:3: manager.namespaces: want a list, have "shop"`},
		"no namespace": {header + "manager:\n  namespaces:\n  - shop\n  - Bank",
			`config.yaml:6: manager.namespaces[1]: "Bank": no namespace has this name`},
		"an empty name": {header + "manager: {leaderElection: {id: \"\"}}",
			"it is empty; leave the key out"},
		"nothing for a section": {header + "manager:\n",
			"config.yaml:3: manager: want keys and values, have nothing; leave the key out"},
		"a list for a section": {header + "manager: []\n",
			"config.yaml:3: manager: want keys and values, have a list"},
		"a section for a value": {header + "manager: {syncPeriod: {}}\n",
			"have keys and values"},
		"a lease without a name": {header + "manager: {leaderElection: {enabled: true}}\n",
			"config.yaml: manager.leaderElection.id: it is missing"},
		"a lease that is short": {header + "manager: {leaderElection: {leaseDuration: 10s}}\n",
			"leaseDuration (10s) must be longer than renewDeadline (10s), and that longer than " +
				"retryPeriod (2s)"},
		"a retry that is late": {header + "manager: {leaderElection: {retryPeriod: 10s}}\n",
			"renewDeadline (10s), and that longer than retryPeriod (10s)"},
		"a burst of nothing": {header + "controllers: {a: {retryBurst: 5}}\n",
			"controllers.a: retryBurst has no effect without retriesPerSecond"},
		"a burst by default": {header + "controllerDefaults: {retryBurst: 5}\n",
			"controllerDefaults: retryBurst has no effect"},
		"delays the wrong way": {header +
			"controllerDefaults: {longestRetryDelay: 1s}\ncontrollers: {a: {retryDelay: 2s}}\n",
			"controllers.a: retryDelay (2s) is longer than longestRetryDelay (1s)"},
	}) {
		t.Run(name, func(t *testing.T) {
			had := Config{Manager: Manager{MetricsBindAddress: ":1"}}
			err := Parse("config.yaml", []byte(c.content), &had)
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "\n", "one mistake has one message")
			require.Equal(t, Config{Manager: Manager{MetricsBindAddress: ":1"}}, had,
				"nothing is half set")
		})
	}
}

func TestTheLargestAndTheSmallestAreTaken(t *testing.T) {
	c := parse(t,
		header+"manager: {metricsBindAddress: \":65535\", syncPeriod: 1ns}\ncontrollers: {a: "+
			"{retriesPerSecond: 1000000000, workers: 1, maxRetries: 0}}")
	require.Equal(t, ":65535", c.Manager.MetricsBindAddress)
	require.Equal(t, time.Nanosecond, *c.Manager.SyncPeriod)
	require.Equal(t, Controller{RetriesPerSecond: new(1e9), Workers: new(1), MaxRetries: new(0)},
		c.Controller("a"))
}

func TestAllMistakesAreShownAtOnce(t *testing.T) {
	err := Parse("config.yaml",
		[]byte(header+"manager: {x: 1, x: 2, syncPeriod: 0s}\ncontrollers: {a: {workers: x}}"),
		&Config{})
	require.ErrorContains(t, err, "manager.x")
	require.ErrorContains(t, err, "manager.syncPeriod")
	require.ErrorContains(t, err, "controllers.a.workers")
}

func TestAFileThatIsNotThereIsAnError(t *testing.T) {
	require.ErrorIs(t, Load(filepath.Join(t.TempDir(), "none.yaml"), &Config{}), os.ErrNotExist)
}

func TestAControllerThatDoesNotExistIsAnError(t *testing.T) {
	c := parse(t, header+"controllers: {website: {}, websit: {}}")
	require.NoError(t, c.Known("website", "websit"))
	require.EqualError(t, c.Known("website", "shop"),
		"controllers.websit: there is no such controller; there are website, shop")
}

func TestAControllersOptionsAreOverriddenByWhatIsSetAndNothingElse(t *testing.T) {
	c := parse(t, everything)
	var o controller.Options
	c.Controller("website").ApplyTo(&o)
	require.Equal(t, 4, o.MaxConcurrentReconciles)
	require.Equal(t, 0, o.MaxRetries)
	require.Equal(t, []time.Duration{3 * time.Minute, time.Minute, 5 * time.Second, -time.Second},
		[]time.Duration{o.CacheSyncTimeout, o.ReconciliationTimeout, o.GracePeriod, o.WaitFallback})
	require.True(t, o.DrainOnStop)

	o = controller.Options{MaxRetries: 7, MaxConcurrentReconciles: 7}
	c.Controller("another").ApplyTo(&o)
	require.Equal(t, []int{2, 7}, []int{o.MaxConcurrentReconciles, o.MaxRetries})
	require.Nil(t, o.RateLimiter)
}

func TestRetriesFollowTheSettings(t *testing.T) {
	a, b := reconcile.Request{}, reconcile.Request{}
	b.Name = "b"
	limiter := func(c Controller) func(reconcile.Request) time.Duration {
		var o controller.Options
		c.ApplyTo(&o)
		return o.RateLimiter.When
	}
	when := limiter(Controller{RetryDelay: new(time.Second),
		LongestRetryDelay: new(3 * time.Second)})
	require.Equal(t, []time.Duration{time.Second, 2 * time.Second, 3 * time.Second, time.Second},
		[]time.Duration{when(a), when(a), when(a), when(b)})

	when = limiter(Controller{LongestRetryDelay: new(7 * time.Millisecond)})
	require.Equal(t, []time.Duration{5 * time.Millisecond, 7 * time.Millisecond},
		[]time.Duration{when(a), when(a)})

	when = limiter(Controller{RetriesPerSecond: new(0.001), RetryBurst: new(2)})
	require.Equal(t, []time.Duration{5 * time.Millisecond, 10 * time.Millisecond},
		[]time.Duration{when(a), when(a)})
	require.Greater(t, when(b), 900*time.Second, "two are free, and the third waits for all")

	when = limiter(Controller{RetriesPerSecond: new(0.001)})
	require.Equal(t, 5*time.Millisecond, when(a))
	require.Greater(t, when(b), 900*time.Second, "the burst is 1 by default")
}

func TestEachControllerHasARateLimiterOfItsOwn(t *testing.T) {
	c := Controller{RetryDelay: new(time.Second)}
	var o, p controller.Options
	c.ApplyTo(&o)
	c.ApplyTo(&p)
	require.NotSame(t, o.RateLimiter, p.RateLimiter)
}
