package configfile

import (
	"context"
	"flag"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/tests/inorder"
	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/builder"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/config"
	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/leaderelection/resourcelock"
	"github.com/loopwright/loopwright/manager/metrics/server"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/workqueue"
)

// appliedTo parses arguments, FILE being a file with this content, and applies them to options.
func appliedTo(t *testing.T, options *manager.Options, content string, args ...string) error {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	fs := flag.NewFlagSet("test", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	flags := BindFlags(fs)
	given := make([]string, len(args))
	for i, arg := range args {
		if given[i] = arg; arg == "FILE" {
			given[i] = path
		}
	}
	require.NoError(t, fs.Parse(given))
	return flags.ApplyTo(options)
}

// A whole manager with a controller of the builder: as many requests are reconciled at a time as
// the strongest of those says who say something.
func TestAControllerHasAsManyWorkersAsFlagsFileOrProgramSay(t *testing.T) {
	const file = header + "controllers: {website: {workers: 4}}\n"
	for name, c := range inorder.Map(map[string]struct {
		file string
		args []string
		want int64
	}{
		"the program":                {"", nil, 1},
		"the file, over the program": {file, []string{"--config", "FILE"}, 4},
		"the file's defaults": {header + "controllerDefaults: {workers: 3}\n",
			[]string{"--config", "FILE"}, 3},
		"the file about another controller": {header + "controllers: {other: {workers: 3}}\n",
			[]string{"--config", "FILE"}, 1},
		"a flag, over the file": {file,
			[]string{"--set=controllers.website.workers=2", "--config", "FILE"}, 2},
		"a flag about all, not over the name's": {file,
			[]string{"--set=controllerDefaults.workers=2", "--config", "FILE"}, 4},
	}) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				options := manager.Options{Logger: logr.Discard(),
					Metrics: server.Options{BindAddress: "0"}}
				require.NoError(t, appliedTo(t, &options, c.file, c.args...))
				require.Equal(t, c.want, workersOf(t, "website", options))
			})
		})
	}
}

// workersOf runs a manager with a controller whose reconciles do not end, and counts them.
func workersOf(t *testing.T, name string, options manager.Options) int64 {
	api := fakeapi.New(fakeapi.Options{})
	defer api.Close()
	m, err := manager.New(api.Config(), options)
	require.NoError(t, err)
	var underWay atomic.Int64
	hangs := reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result,
		error) {
		underWay.Add(1)
		<-ctx.Done()
		return reconcile.Result{}, nil
	})
	one := controller.Options{MaxConcurrentReconciles: 1}
	require.NoError(t,
		builder.ControllerManagedBy(m).Named(name).For(&corev1.ConfigMap{}).WithOptions(one).Complete(hangs))
	for _, object := range []string{"a", "b", "c", "d", "e", "f"} {
		require.NoError(t, m.GetClient().Create(t.Context(),
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: object}}))
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Start(ctx) }()
	synctest.Wait()
	found := underWay.Load()
	stop()
	require.NoError(t, <-ended)
	return found
}

func TestEverySettingReachesTheOptionsOfTheManager(t *testing.T) {
	var o manager.Options
	require.NoError(t, appliedTo(t, &o, everything, "--config", "FILE"))
	require.Equal(t, map[string]cache.Config{"shop": {}, "bank": {}}, o.Cache.DefaultNamespaces)
	require.Equal(t, []string{":8080", "[::1]:8081", "0"},
		[]string{o.Metrics.BindAddress, o.HealthProbeBindAddress, o.PprofBindAddress})
	require.Equal(t, 10*time.Hour, *o.Cache.SyncPeriod)
	require.Equal(t, -time.Second, *o.GracefulShutdownTimeout)
	require.Equal(t, []string{"website.example.com", "system"},
		[]string{o.LeaderElectionID, o.LeaderElectionNamespace})
	require.Equal(t, []time.Duration{30 * time.Second, 20 * time.Second, 5 * time.Second},
		[]time.Duration{*o.LeaseDuration, *o.RenewDeadline, *o.RetryPeriod})
	require.Equal(t, []bool{true, true, true},
		[]bool{o.Strict, o.LeaderElection, o.LeaderElectionReleaseOnCancel})
}

func TestWhatNobodySetsStaysAsTheProgramHasIt(t *testing.T) {
	shop := cache.Config{LabelSelector: labels.Everything()}
	had := manager.Options{
		Cache:                  cache.Options{DefaultNamespaces: map[string]cache.Config{"shop": shop}, SyncPeriod: new(time.Hour)},
		Metrics:                server.Options{BindAddress: ":1"},
		HealthProbeBindAddress: ":2", PprofBindAddress: ":3", LeaderElection: true, LeaderElectionID: "a", LeaderElectionNamespace: "b",
		LeaseDuration: new(time.Minute), GracefulShutdownTimeout: new(time.Second),
	}
	o := had
	require.NoError(t, appliedTo(t, &o, header, "--config", "FILE"))
	o.Controller.Override = nil // functions cannot be compared
	require.Equal(t, had, o)

	require.NoError(t, appliedTo(t, &o, header, "--leader-elect=false", "--namespaces=bank,shop"))
	require.False(t, o.LeaderElection)
	require.Equal(t, map[string]cache.Config{"shop": shop, "bank": {}}, o.Cache.DefaultNamespaces)
	require.Len(t, had.Cache.DefaultNamespaces, 1, "the map of the program is not changed")
}

// The lease has its name in the program, and a flag switches it on.
func TestSettingsMustFitTogetherWithWhatTheProgramSays(t *testing.T) {
	o := manager.Options{LeaderElectionID: "a"}
	require.NoError(t, appliedTo(t, &o, "", "--leader-elect"))
	require.True(t, o.LeaderElection)

	o = manager.Options{RenewDeadline: new(20 * time.Second)}
	require.ErrorContains(t, appliedTo(t, &o, "", "--leader-elect"),
		"manager.leaderElection.id: it is missing")
	require.False(t, o.LeaderElection, "nothing is half set")
	require.ErrorContains(t, appliedTo(t, &o, "", "--set=manager.leaderElection.retryPeriod=5s"),
		"leaseDuration (15s) must be longer than renewDeadline (20s)")
}

// aLock is a lock of the program's own.
type aLock struct {
	resourcelock.Interface
	name string
}

func (l aLock) Describe() string { return l.name }

// A lock of the program's own has a name already, and needs no ID.
func TestALockOfTheProgramTakesThePlaceOfAnID(t *testing.T) {
	o := manager.Options{LeaderElectionResourceLockInterface: aLock{name: "shop/website"}}
	require.NoError(t, appliedTo(t, &o, "", "--leader-elect"))
	require.True(t, o.LeaderElection)

	o = manager.Options{LeaderElectionID: "a", LeaderElectionResourceLockInterface: aLock{}}
	require.NoError(t, appliedTo(t, &o, "", "--leader-elect"))
}

func TestTheProgramsOwnOverrideComesFirst(t *testing.T) {
	o := manager.Options{Controller: config.Controller{Override: func(string) config.Override {
		return config.Override{Workers: new(7), MaxRetries: new(7)}
	}}}
	require.NoError(t, appliedTo(t, &o, "", "--set=controllers.website.workers=2"))
	var website controller.Options
	website.Override(o.Controller.Override("website"))
	require.Equal(t, []int{2, 7}, []int{website.MaxConcurrentReconciles, website.MaxRetries})
}

// filled is a value that is set, for each type that a setting has.
func filled(t *testing.T, setting reflect.Type, number int) reflect.Value {
	t.Helper()
	value := reflect.New(setting.Elem())
	switch to := value.Interface().(type) {
	case *int:
		*to = number
	case *float64:
		*to = float64(number)
	case *time.Duration:
		*to = time.Duration(number) * time.Second
	case *bool:
		*to = number%2 == 1
	default:
		t.Fatalf("no value for a %s", setting)
	}
	return value
}

// A setting that the completion forgets is one that is ignored.
func TestEachDefaultReachesAControllerThatDoesNotSayItItself(t *testing.T) {
	all := reflect.TypeFor[Controller]()
	for i := range all.NumField() {
		name := all.Field(i).Name
		config := Config{Controllers: map[string]*Controller{"own": {}}}
		defaults, own := filled(t, all.Field(i).Type, 7), filled(t, all.Field(i).Type, 8)
		reflect.ValueOf(&config.ControllerDefaults).Elem().Field(i).Set(defaults)
		reflect.ValueOf(config.Controllers["own"]).Elem().Field(i).Set(own)

		want := Controller{}
		reflect.ValueOf(&want).Elem().Field(i).Set(defaults)
		require.Equal(t, want, config.Controller("another"), name)
		reflect.ValueOf(&want).Elem().Field(i).Set(own)
		require.Equal(t, want, config.Controller("own"), name)
	}
}

func TestEachSettingReachesTheFieldOfItsName(t *testing.T) {
	all := reflect.TypeFor[Controller]()
	for i := range all.NumField() {
		name := all.Field(i).Name
		switch name {
		case "RetryDelay", "LongestRetryDelay", "RetriesPerSecond", "RetryBurst":
			continue // they make up the rate limiter
		}
		set := Controller{}
		value := filled(t, all.Field(i).Type, 7)
		reflect.ValueOf(&set).Elem().Field(i).Set(value)
		options := controller.Options{}
		set.ApplyTo(&options)
		if name == "Workers" {
			name = "MaxConcurrentReconciles"
		}
		field := reflect.ValueOf(&options).Elem().FieldByName(name)
		require.Equal(t, value.Elem().Interface(), reflect.Indirect(field).Interface(), name)
		field.SetZero()
		require.Equal(t, controller.Options{}, options, "%s sets another field, too", name)
	}
}

func TestWhatContradictsItselfIsRefused(t *testing.T) {
	for _, c := range []struct {
		name     string
		settings Controller
		want     string // empty if it is right
	}{
		{"nothing", Controller{}, ""},
		{"a burst of nothing", Controller{RetryBurst: new(2)},
			"retryBurst has no effect without retriesPerSecond"},
		{"a burst", Controller{RetryBurst: new(2), RetriesPerSecond: new(1.0)}, ""},
		{"both delays are equal", Controller{RetryDelay: new(time.Second),
			LongestRetryDelay: new(time.Second)}, ""},
		{"the first is longer", Controller{RetryDelay: new(time.Second + 1),
			LongestRetryDelay: new(time.Second)},
			"retryDelay (1.000000001s) is longer than longestRetryDelay (1s)"},
		{"as long as the longest by default", Controller{RetryDelay: new(1000 * time.Second)}, ""},
		{"longer than that", Controller{RetryDelay: new(1000*time.Second + 1)},
			"is longer than longestRetryDelay (16m40s)"},
		{"as short as the first by default",
			Controller{LongestRetryDelay: new(5 * time.Millisecond)}, ""},
		{"shorter than that", Controller{LongestRetryDelay: new(5*time.Millisecond - 1)},
			"retryDelay (5ms) is longer"},
	} {
		err := c.settings.validate()
		if c.want == "" {
			require.NoError(t, err, c.name)
		} else {
			require.ErrorContains(t, err, c.want, c.name)
		}
	}
}

func TestTheSmallestValueOfASettingIsAccepted(t *testing.T) {
	for _, c := range []struct {
		setting string
		want    string // empty if it is right
	}{
		{"{maxRetries: 0}", ""},
		{"{maxRetries: -1}", "maxRetries"},
		{"{workers: 1}", ""},
		{"{workers: 0}", "workers"},
		{"{retryBurst: 1, retriesPerSecond: 1}", ""},
		{"{retryBurst: 0, retriesPerSecond: 1}", "retryBurst"},
	} {
		err := Parse("file",
			[]byte("apiVersion: "+APIVersion+"\nkind: "+Kind+"\ncontrollers:\n  a: "+c.setting+"\n"), &Config{})
		if c.want == "" {
			require.NoError(t, err, c.setting)
		} else {
			require.ErrorContains(t, err, c.want, c.setting)
		}
	}
}

func TestTheProgramsRateLimiterStaysIfNothingIsSaidAboutRetries(t *testing.T) {
	own := &workqueue.Exponential[reconcile.Request]{Base: time.Second}
	options := controller.Options{RateLimiter: own}
	Controller{MaxRetries: new(3)}.ApplyTo(&options)
	require.Same(t, own, options.RateLimiter)
	Controller{RetryDelay: new(time.Minute)}.ApplyTo(&options)
	require.NotSame(t, own, options.RateLimiter)
}
