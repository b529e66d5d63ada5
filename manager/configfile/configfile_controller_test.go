package configfile

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/workqueue"
)

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
		{"a burst of nothing", Controller{RetryBurst: new(2)}, "retryBurst has no effect without retriesPerSecond"},
		{"a burst", Controller{RetryBurst: new(2), RetriesPerSecond: new(1.0)}, ""},
		{"both delays are equal", Controller{RetryDelay: new(time.Second), LongestRetryDelay: new(time.Second)}, ""},
		{"the first is longer", Controller{RetryDelay: new(time.Second + 1), LongestRetryDelay: new(time.Second)}, "retryDelay (1.000000001s) is longer than longestRetryDelay (1s)"},
		{"as long as the longest by default", Controller{RetryDelay: new(1000 * time.Second)}, ""},
		{"longer than that", Controller{RetryDelay: new(1000*time.Second + 1)}, "is longer than longestRetryDelay (16m40s)"},
		{"as short as the first by default", Controller{LongestRetryDelay: new(5 * time.Millisecond)}, ""},
		{"shorter than that", Controller{LongestRetryDelay: new(5*time.Millisecond - 1)}, "retryDelay (5ms) is longer"},
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
		err := Parse("file", []byte("apiVersion: "+APIVersion+"\nkind: "+Kind+"\ncontrollers:\n  a: "+c.setting+"\n"), &Config{})
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
