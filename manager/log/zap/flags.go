package zap

import (
	"flag"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

var encoders = map[string]NewEncoderFunc{"json": newJSONEncoder, "console": newConsoleEncoder}

var levels = map[string]zapcore.Level{
	"debug": zap.DebugLevel, "info": zap.InfoLevel,
	"error": zap.ErrorLevel, "panic": zap.PanicLevel,
}

var stackLevels = map[string]zapcore.Level{
	"info": zap.InfoLevel, "error": zap.ErrorLevel, "panic": zap.PanicLevel,
}

var timeEncoders = map[string]zapcore.TimeEncoder{
	"epoch": zapcore.EpochTimeEncoder, "millis": zapcore.EpochMillisTimeEncoder,
	"nano": zapcore.EpochNanosTimeEncoder, "nanos": zapcore.EpochNanosTimeEncoder,
	"iso8601": zapcore.ISO8601TimeEncoder, "rfc3339": zapcore.RFC3339TimeEncoder,
	"rfc3339nano": zapcore.RFC3339NanoTimeEncoder,
}

// BindFlags adds flags that set the options. The options' current values are the flags' defaults.
//
//	--zap-devel              development instead of production; see Options.Development
//	--zap-encoder            json or console
//	--zap-log-level          debug, info, error, panic, or a number: 3 is logr's V(3)
//	--zap-stacktrace-level   info, error or panic
//	--zap-time-encoding      epoch, millis, nano, iso8601, rfc3339 or rfc3339nano
func (o *Options) BindFlags(fs *flag.FlagSet) {
	fs.BoolVar(&o.Development, "zap-devel", o.Development,
		"Development mode: text, log level debug, stack traces from warnings on. "+
			"Without it: JSON, log level info, stack traces from errors on.")
	fs.Var(&choice{kind: "encoder", set: func(text string) (err error) {
		o.NewEncoder, err = oneOf(encoders, text)
		return err
	}}, "zap-encoder", "Encoding of log lines: json or console.")
	fs.Var(&choice{kind: "level", set: func(text string) error {
		level, err := parseLevel(text)
		if err == nil {
			o.Level = zap.NewAtomicLevelAt(level)
		}
		return err
	}}, "zap-log-level", "Lowest level that is logged: debug, info, error, panic, "+
		"or a number above 0, where higher numbers log more detail.")
	fs.Var(&choice{kind: "level", set: func(text string) error {
		level, err := oneOf(stackLevels, text)
		if err == nil {
			o.StacktraceLevel = zap.NewAtomicLevelAt(level)
		}
		return err
	}}, "zap-stacktrace-level", "Lowest level that has a stack trace: info, error or panic.")
	fs.Var(&choice{kind: "time-encoding", set: func(text string) (err error) {
		o.TimeEncoder, err = oneOf(timeEncoders, text)
		return err
	}}, "zap-time-encoding", "Encoding of times: epoch, millis, nano, iso8601, "+
		"rfc3339 (the default) or rfc3339nano.")
}

func parseLevel(text string) (zapcore.Level, error) {
	number, err := strconv.Atoi(text)
	if err != nil {
		level, err := oneOf(levels, text)
		if err != nil {
			return 0, fmt.Errorf("%w, or a number above 0", err)
		}
		return level, nil
	}
	// A level has 8 bits. In controller-runtime a larger number wraps around, and nothing is
	// logged.
	if number < 1 || number > -math.MinInt8 {
		return 0, fmt.Errorf("log level %d: it must be between 1 and %d", number, -math.MinInt8)
	}
	return zapcore.Level(-number), nil
}

func oneOf[V any](choices map[string]V, text string) (V, error) {
	value, ok := choices[strings.ToLower(text)]
	if !ok {
		return value, fmt.Errorf("%q is not one of %s", text,
			strings.Join(slices.Sorted(maps.Keys(choices)), ", "))
	}
	return value, nil
}

// choice is a flag's value. Its Type is for pflag, which shows it in a usage text.
type choice struct {
	kind  string
	set   func(text string) error
	value string
}

// String implements flag.Value.
func (c *choice) String() string { return c.value }

// Type implements pflag.Value.
func (c *choice) Type() string { return c.kind }

// Set implements flag.Value.
func (c *choice) Set(text string) error {
	if err := c.set(text); err != nil {
		return err
	}
	c.value = text
	return nil
}
