package zap

import (
	"bytes"
	"flag"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/loopwright/loopwright/internal/inorder"
)

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
	o, err := parse(t, "--zap-devel", "--zap-encoder=JSON", "--zap-log-level=5", "--zap-stacktrace-level=panic", "--zap-time-encoding=millis")
	require.NoError(t, err)
	require.True(t, o.Development)
	require.True(t, o.Level.Enabled(zapcore.Level(-5)))
	require.False(t, o.Level.Enabled(zapcore.Level(-6)))
	require.False(t, o.StacktraceLevel.Enabled(zap.ErrorLevel))
	require.True(t, o.StacktraceLevel.Enabled(zap.PanicLevel))
	var out bytes.Buffer
	New(UseFlagOptions(&o), WriteTo(&out)).Info("m")
	require.True(t, strings.HasPrefix(out.String(), `{"L":"INFO","T":`) || strings.HasPrefix(out.String(), `{"level":"info","ts":`), out.String())
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
