package zap

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/internal/tests/inorder"
)

// timeless leaves the time out, so that lines can be compared.
func timeless(c *zapcore.EncoderConfig) { c.TimeKey = "" }

func written(opts []Opts, log func(l logr.Logger)) string {
	var out bytes.Buffer
	log(New(append([]Opts{func(o *Options) {
		o.EncoderConfigOptions = []EncoderConfigOption{timeless}
	}, WriteTo(&out)}, opts...)...))
	return out.String()
}

func web() *corev1.Pod {
	return &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
		Spec:       corev1.PodSpec{NodeName: "a secret"}}
}

func TestAnObjectIsShownAsAReference(t *testing.T) {
	free := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1",
		"kind": "Website", "metadata": map[string]any{"name": "w"}, "spec": "a secret"}}
	for name, c := range inorder.Map(map[string]struct {
		value any
		want  string
	}{
		"an object": {web(),
			`{"apiVersion":"v1","kind":"Pod","namespace":"shop","name":"web"}`},
		"one that does not know its kind": {&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}},
			`{"name":"n"}`},
		"one that is no pointer": {*web(),
			`{"apiVersion":"v1","kind":"Pod","namespace":"shop","name":"web"}`},
		"an unstructured one": {free,
			`{"apiVersion":"example.com/v1","kind":"Website","name":"w"}`},
		"a nil pointer": {(*corev1.Pod)(nil),
			`{},"vError":"got nil for runtime.Object"`},
		"a name": {types.NamespacedName{Namespace: "shop", Name: "web"},
			`{"name":"web","namespace":"shop"}`},
		"a name without a namespace":     {types.NamespacedName{Name: "web"}, `{"name":"web"}`},
		"a text":                         {"web", `"web"`},
		"something else":                 {[]int{1}, `[1]`},
		"an object that has no metadata": {&corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}}, `"&PodList{ListMeta:{ 7  <nil> nil},Items:[]Pod{},}"`},
	}) {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, `{"level":"info","msg":"m","v":`+c.want+"}\n",
				written(nil, func(l logr.Logger) {
					l.Info("m", "v", c.value)
				}))
			require.Equal(t, `{"level":"info","msg":"m","v":`+c.want+"}\n",
				written(nil, func(l logr.Logger) {
					l.WithValues("v", c.value).Info("m")
				}),
				"a logger that was made with it")
		})
	}
}

// One field that is no object must not keep the next one from being found.
func TestEveryObjectOfALineIsShownAsAReference(t *testing.T) {
	require.Equal(t,
		`{"level":"info","msg":"m","n":1,"list":[1],"a":{"apiVersion":"v1","kind":"Pod","namespace":"shop","name":"web"},"b":{"name":"n"}}`+"\n",
		written(nil, func(l logr.Logger) {
			l.Info("m", "n", 1, "list", []int{1}, "a", web(), "b",
				&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
		}))
}

func TestACopyOfAnEncoderShowsAsMuchAsTheEncoder(t *testing.T) {
	for _, verbose := range []bool{true, false} {
		encoder := &KubeAwareEncoder{Encoder: newJSONEncoder(timeless), Verbose: verbose}
		line, err := encoder.Clone().EncodeEntry(zapcore.Entry{Message: "m"},
			[]zapcore.Field{zap.Any("v", web())})
		require.NoError(t, err)
		require.Equal(t, verbose, strings.Contains(line.String(), "a secret"))
	}
}

func TestDevelopmentShowsObjectsInFull(t *testing.T) {
	dev := []Opts{UseDevMode(true)}
	require.Contains(t, written(dev, func(l logr.Logger) { l.Info("m", "v", web()) }), "a secret")
	require.Contains(t, written(dev, func(l logr.Logger) {
		l.WithValues("v", web()).Info("m")
	}), "a secret")
}

func TestTheFieldsOfTheCallerAreNotChanged(t *testing.T) {
	fields := []zapcore.Field{zap.Int("n", 1), zap.Any("v", web())}
	l := NewRaw(WriteTo(io.Discard))
	l.Info("m", fields...)
	l.With(fields...).Info("m")
	require.Equal(t, zap.Any("v", web()).Type, fields[1].Type)
}

func TestTheModesDifferInLevelAndStackTracesAndForm(t *testing.T) {
	log := func(l logr.Logger) {
		l.V(1).Info("debug")
		l.Info("info")
		l.Error(errors.New("no"), "error")
	}
	production := written(nil, log)
	require.NotContains(t, production, "debug")
	require.Contains(t, production, `{"level":"info","msg":"info"}`)
	require.Contains(t, production, `{"level":"error","msg":"error","error":"no","stacktrace":"`)
	development := written([]Opts{UseDevMode(true)}, log)
	require.Contains(t, development, "DEBUG\tdebug\n")
	require.Contains(t, development, "ERROR\terror\t{\"error\": \"no\"}\n")
	require.Contains(t, development, "TestTheModesDifferInLevelAndStackTracesAndForm")
}

func TestProductionDropsFloodsOfTheSameLine(t *testing.T) {
	flood := func(l logr.Logger) {
		for range 1000 {
			l.Info("again")
		}
	}
	synctest.Test(t, func(t *testing.T) { // in a bubble, they are all logged at the same moment
		require.Equal(t, 100+9, strings.Count(written(nil, flood), "again"))
	})
	require.Equal(t, 1000, strings.Count(written([]Opts{UseDevMode(true)}, flood), "again"))
	require.Equal(t, 1000, strings.Count(written([]Opts{Level(zapcore.Level(-3))}, flood), "again"))
}

func TestDetailIsWrittenFromTheLevelThatWasAskedFor(t *testing.T) {
	out := written([]Opts{Level(zapcore.Level(-3))}, func(l logr.Logger) {
		l.V(3).Info("three")
		l.V(4).Info("four")
	})
	require.Equal(t, "{\"level\":\"Level(-3)\",\"msg\":\"three\"}\n", out)
}

func TestOptionsReachTheLogger(t *testing.T) {
	console := written([]Opts{ConsoleEncoder(timeless)}, func(l logr.Logger) {
		l.Info("m", "n", 1)
	})
	require.Equal(t, "INFO\tm\t{\"n\": 1}\n", console)
	json := written([]Opts{UseDevMode(true), JSONEncoder(timeless)}, func(l logr.Logger) {
		l.Info("m")
	})
	require.Equal(t, "{\"level\":\"info\",\"ts\":",
		strings.Split(written([]Opts{JSONEncoder()}, func(l logr.Logger) {
			l.Info("m")
		}), "1")[0])
	require.Equal(t, "{\"level\":\"info\",\"msg\":\"m\"}\n", json)
	own := written([]Opts{Encoder(newJSONEncoder(timeless)), StacktraceLevel(zap.InfoLevel),
		RawZapOpts(zap.Fields(zap.Int("own", 1)))}, func(l logr.Logger) {
		l.Info("m")
	})
	require.Contains(t, own, `"own":1,"stacktrace"`)
}

func TestTimesAreOfRFC3339UnlessAskedOtherwise(t *testing.T) {
	var out bytes.Buffer
	entry := zapcore.Entry{Time: time.Unix(1, 0).UTC(), Message: "m"}
	write := func(o Options) string {
		o.DestWriter = &out
		line, err := o.withDefaults().Encoder.EncodeEntry(entry, nil)
		require.NoError(t, err)
		return line.String()
	}
	require.Contains(t, write(Options{}), `"1970-01-01T00:00:01Z"`)
	require.Contains(t, write(Options{TimeEncoder: zapcore.EpochTimeEncoder}), `"ts":1,`)
	require.Contains(t,
		write(Options{EncoderConfigOptions: []EncoderConfigOption{func(c *zapcore.EncoderConfig) {
			c.EncodeTime = zapcore.EpochMillisTimeEncoder
		}}}), `"ts":1000,`)
}

func TestTheDefaultIsStandardError(t *testing.T) {
	require.Equal(t, os.Stderr, Options{}.withDefaults().DestWriter)
}

func parse(t *testing.T, args ...string) (Options, error) {
	t.Helper()
	var o Options
	fs := flag.NewFlagSet("test", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	o.BindFlags(fs)
	err := fs.Parse(args)
	return o, err
}

func TestFlagsSetOptions(t *testing.T) {
	o, err := parse(t, "--zap-devel", "--zap-encoder=JSON", "--zap-log-level=5",
		"--zap-stacktrace-level=panic", "--zap-time-encoding=millis")
	require.NoError(t, err)
	require.True(t, o.Development)
	require.True(t, o.Level.Enabled(zapcore.Level(-5)))
	require.False(t, o.Level.Enabled(zapcore.Level(-6)))
	require.False(t, o.StacktraceLevel.Enabled(zap.ErrorLevel))
	require.True(t, o.StacktraceLevel.Enabled(zap.PanicLevel))
	var out bytes.Buffer
	New(UseFlagOptions(&o), WriteTo(&out)).Info("m")
	require.True(t, strings.HasPrefix(out.String(), `{"L":"INFO","T":`) ||
		strings.HasPrefix(out.String(), `{"level":"info","ts":`), out.String())
}

func TestAWrongFlagSaysWhatIsPossible(t *testing.T) {
	for arg, want := range inorder.Map(map[string]string{
		"--zap-encoder=xml":           `"xml" is not one of console, json`,
		"--zap-log-level=loud":        `"loud" is not one of debug, error, info, panic, or a number above 0`,
		"--zap-log-level=0":           "log level 0: it must be between 1 and 128",
		"--zap-log-level=-1":          "log level -1: it must be between 1 and 128",
		"--zap-log-level=129":         "log level 129: it must be between 1 and 128",
		"--zap-stacktrace-level=none": `"none" is not one of error, info, panic`,
		"--zap-time-encoding=sundial": `"sundial" is not one of epoch, iso8601, millis, nano, nanos, rfc3339, rfc3339nano`,
	}) {
		o, err := parse(t, arg)
		require.ErrorContains(t, err, want, arg)
		require.Equal(t, Options{}, o, "nothing is half set")
	}
}

// What a program shows as its settings, and what --help calls the default, must be true.
func TestAFlagShowsWhatItWasSetTo(t *testing.T) {
	o := Options{Development: true}
	fs := flag.NewFlagSet("test", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	o.BindFlags(fs)
	require.Equal(t, "true", fs.Lookup("zap-devel").DefValue)
	require.True(t, o.Development)
	require.Empty(t, fs.Lookup("zap-encoder").Value.String())
	require.NoError(t, fs.Set("zap-encoder", "json"))
	require.Error(t, fs.Set("zap-encoder", "xml"))
	require.Equal(t, "json", fs.Lookup("zap-encoder").Value.String())
}

func TestTheLeastAndTheMostDetailAreLevels(t *testing.T) {
	for text, level := range map[string]zapcore.Level{"1": -1, "128": -128} {
		o, err := parse(t, "--zap-log-level="+text)
		require.NoError(t, err)
		require.True(t, o.Level.Enabled(level), text)
	}
}

func TestEachLevelAndTimeIsTaken(t *testing.T) {
	for text, level := range levels {
		o, err := parse(t, "--zap-log-level="+strings.ToUpper(text))
		require.NoError(t, err)
		require.True(t, o.Level.Enabled(level), text)
		require.False(t, o.Level.Enabled(level-1), text)
	}
	for text := range timeEncoders {
		o, err := parse(t, "--zap-time-encoding="+text)
		require.NoError(t, err)
		require.NotNil(t, o.TimeEncoder)
	}
	o, err := parse(t)
	require.NoError(t, err)
	require.Nil(t, o.Level)
}
