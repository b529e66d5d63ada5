package zap

import (
	"bytes"
	"errors"
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

	"github.com/loopwright/loopwright/internal/inorder"
)

// timeless leaves the time out, so that lines can be compared.
func timeless(c *zapcore.EncoderConfig) { c.TimeKey = "" }

func written(opts []Opts, log func(l logr.Logger)) string {
	var out bytes.Buffer
	log(New(append([]Opts{func(o *Options) { o.EncoderConfigOptions = []EncoderConfigOption{timeless} }, WriteTo(&out)}, opts...)...))
	return out.String()
}

func web() *corev1.Pod {
	return &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
		Spec: corev1.PodSpec{NodeName: "a secret"}}
}

func TestAnObjectIsShownAsAReference(t *testing.T) {
	free := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Website", "metadata": map[string]any{"name": "w"}, "spec": "a secret"}}
	for name, c := range inorder.Map(map[string]struct {
		value any
		want  string
	}{
		"an object":                       {web(), `{"apiVersion":"v1","kind":"Pod","namespace":"shop","name":"web"}`},
		"one that does not know its kind": {&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, `{"name":"n"}`},
		"an unstructured one":             {free, `{"apiVersion":"example.com/v1","kind":"Website","name":"w"}`},
		"a nil pointer":                   {(*corev1.Pod)(nil), `{},"vError":"got nil for runtime.Object"`},
		"a name":                          {types.NamespacedName{Namespace: "shop", Name: "web"}, `{"name":"web","namespace":"shop"}`},
		"a name without a namespace":      {types.NamespacedName{Name: "web"}, `{"name":"web"}`},
		"a text":                          {"web", `"web"`},
		"something else":                  {[]int{1}, `[1]`},
		"an object that has no metadata":  {&corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}}, `"&PodList{ListMeta:{ 7  <nil> nil},Items:[]Pod{},}"`},
	}) {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, `{"level":"info","msg":"m","v":`+c.want+"}\n", written(nil, func(l logr.Logger) { l.Info("m", "v", c.value) }))
			require.Equal(t, `{"level":"info","msg":"m","v":`+c.want+"}\n", written(nil, func(l logr.Logger) { l.WithValues("v", c.value).Info("m") }),
				"a logger that was made with it")
		})
	}
}

// One field that is no object must not keep the next one from being found.
func TestEveryObjectOfALineIsShownAsAReference(t *testing.T) {
	require.Equal(t, `{"level":"info","msg":"m","n":1,"list":[1],"a":{"apiVersion":"v1","kind":"Pod","namespace":"shop","name":"web"},"b":{"name":"n"}}`+"\n",
		written(nil, func(l logr.Logger) {
			l.Info("m", "n", 1, "list", []int{1}, "a", web(), "b", &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
		}))
}

func TestACopyOfAnEncoderShowsAsMuchAsTheEncoder(t *testing.T) {
	for _, verbose := range []bool{true, false} {
		encoder := &KubeAwareEncoder{Encoder: newJSONEncoder(timeless), Verbose: verbose}
		line, err := encoder.Clone().EncodeEntry(zapcore.Entry{Message: "m"}, []zapcore.Field{zap.Any("v", web())})
		require.NoError(t, err)
		require.Equal(t, verbose, strings.Contains(line.String(), "a secret"))
	}
}

func TestDevelopmentShowsObjectsInFull(t *testing.T) {
	dev := []Opts{UseDevMode(true)}
	require.Contains(t, written(dev, func(l logr.Logger) { l.Info("m", "v", web()) }), "a secret")
	require.Contains(t, written(dev, func(l logr.Logger) { l.WithValues("v", web()).Info("m") }), "a secret")
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
	console := written([]Opts{ConsoleEncoder(timeless)}, func(l logr.Logger) { l.Info("m", "n", 1) })
	require.Equal(t, "INFO\tm\t{\"n\": 1}\n", console)
	json := written([]Opts{UseDevMode(true), JSONEncoder(timeless)}, func(l logr.Logger) { l.Info("m") })
	require.Equal(t, "{\"level\":\"info\",\"ts\":", strings.Split(written([]Opts{JSONEncoder()}, func(l logr.Logger) { l.Info("m") }), "1")[0])
	require.Equal(t, "{\"level\":\"info\",\"msg\":\"m\"}\n", json)
	own := written([]Opts{Encoder(newJSONEncoder(timeless)), StacktraceLevel(zap.InfoLevel), RawZapOpts(zap.Fields(zap.Int("own", 1)))}, func(l logr.Logger) { l.Info("m") })
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
	require.Contains(t, write(Options{EncoderConfigOptions: []EncoderConfigOption{func(c *zapcore.EncoderConfig) { c.EncodeTime = zapcore.EpochMillisTimeEncoder }}}), `"ts":1000,`)
}

func TestTheDefaultIsStandardError(t *testing.T) {
	require.Equal(t, os.Stderr, Options{}.withDefaults().DestWriter)
}
