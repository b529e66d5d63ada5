// Package zap makes a logger from zap, with what a controller needs: readable lines in development
// and JSON in production, flags for both, and references instead of Kubernetes objects.
//
//	opts := zap.Options{}
//	opts.BindFlags(flag.CommandLine)
//	flag.Parse()
//	log.SetLogger(zap.New(zap.UseFlagOptions(&opts)))
//
// logr's V(n) is zap's level -n: V(0) is Info, V(1) is Debug, and V(3) has no name.
//
// Neighbours: below it are zap and zapr, the bridge to logr. Above it is main.
package zap

import (
	"errors"
	"io"
	"os"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/zapr"
	"go.uber.org/zap"
	"go.uber.org/zap/buffer"
	"go.uber.org/zap/zapcore"

	"github.com/loopwright/loopwright/manager/log/internal/reference"
)

// Options are the settings of New. The zero value works, and means production.
type Options struct {
	// Development is for people: text, from Debug on, with a stack trace from warnings on. Without
	// it, lines are JSON, from Info on, with a stack trace from errors on; and of lines with the
	// same text, only the first 100 in a second are written, and every hundredth after that.
	Development bool
	// Encoder formats the lines. It overrides NewEncoder and EncoderConfigOptions.
	Encoder zapcore.Encoder
	// EncoderConfigOptions are passed to NewEncoder.
	EncoderConfigOptions []EncoderConfigOption
	// NewEncoder makes the encoder; the default is JSON, and text in development.
	NewEncoder NewEncoderFunc
	// DestWriter is where lines are written; the default is os.Stderr.
	DestWriter io.Writer
	// Level is the lowest level that is written. logr's V(3) is zapcore.Level(-3). From
	// zapcore.Level(-2) down, every line is written, however many have the same text.
	Level zapcore.LevelEnabler
	// StacktraceLevel is the lowest level that has a stack trace.
	StacktraceLevel zapcore.LevelEnabler
	// ZapOpts are passed to zap.
	ZapOpts []zap.Option
	// TimeEncoder formats the time stamps; the default is RFC 3339.
	TimeEncoder zapcore.TimeEncoder
}

// Opts changes Options.
type Opts func(*Options)

// EncoderConfigOption changes an encoder's configuration.
type EncoderConfigOption func(*zapcore.EncoderConfig)

// NewEncoderFunc makes an encoder.
type NewEncoderFunc func(...EncoderConfigOption) zapcore.Encoder

// New makes a logger.
func New(opts ...Opts) logr.Logger { return zapr.NewLogger(NewRaw(opts...)) }

// NewRaw makes a *zap.Logger with New's settings.
func NewRaw(opts ...Opts) *zap.Logger {
	var o Options
	for _, opt := range opts {
		opt(&o)
	}
	o = o.withDefaults()
	out := zapcore.AddSync(o.DestWriter)
	encoder := &KubeAwareEncoder{Encoder: o.Encoder, Verbose: o.Development}
	core := zapcore.NewCore(encoder, out, o.Level)
	if !o.Development {
		core = referringCore{core}
	}
	return zap.New(core, append(o.ZapOpts, zap.ErrorOutput(out))...)
}

// withDefaults returns a copy with all defaults filled in, and adds the zap options that follow
// from them.
func (o Options) withDefaults() Options {
	level, stack, newEncoder := zap.InfoLevel, zap.ErrorLevel, NewEncoderFunc(newJSONEncoder)
	if o.Development {
		level, stack, newEncoder = zap.DebugLevel, zap.WarnLevel, newConsoleEncoder
	}
	if o.Level == nil {
		o.Level = zap.NewAtomicLevelAt(level)
	}
	if o.StacktraceLevel == nil {
		o.StacktraceLevel = zap.NewAtomicLevelAt(stack)
	}
	if o.NewEncoder == nil {
		o.NewEncoder = newEncoder
	}
	if o.DestWriter == nil {
		o.DestWriter = os.Stderr
	}
	if o.TimeEncoder == nil {
		o.TimeEncoder = zapcore.RFC3339TimeEncoder
	}
	if o.Encoder == nil {
		// The time encoder comes first, so that the user's options may replace it.
		options := []EncoderConfigOption{func(c *zapcore.EncoderConfig) {
			c.EncodeTime = o.TimeEncoder
		}}
		o.Encoder = o.NewEncoder(append(options, o.EncoderConfigOptions...)...)
	}
	more := append([]zap.Option(nil), o.ZapOpts...)
	switch {
	case o.Development:
		more = append(more, zap.Development())
	case !o.Level.Enabled(zapcore.Level(-2)): // zap's sampler has no room for levels without a name
		more = append(more, zap.WrapCore(func(core zapcore.Core) zapcore.Core {
			return zapcore.NewSamplerWithOptions(core, time.Second, 100, 100)
		}))
	}
	o.ZapOpts = append(more, zap.AddStacktrace(o.StacktraceLevel))
	return o
}

// UseDevMode sets Options.Development.
func UseDevMode(enabled bool) Opts {
	return func(o *Options) { o.Development = enabled }
}

// WriteTo sets Options.DestWriter.
func WriteTo(out io.Writer) Opts {
	return func(o *Options) { o.DestWriter = out }
}

// Encoder sets Options.Encoder.
func Encoder(encoder zapcore.Encoder) func(o *Options) {
	return func(o *Options) { o.Encoder = encoder }
}

// JSONEncoder sets Options.Encoder to a JSON encoder.
func JSONEncoder(opts ...EncoderConfigOption) func(o *Options) {
	return Encoder(newJSONEncoder(opts...))
}

// ConsoleEncoder sets Options.Encoder to an encoder for readable text.
func ConsoleEncoder(opts ...EncoderConfigOption) func(o *Options) {
	return Encoder(newConsoleEncoder(opts...))
}

// Level sets Options.Level.
func Level(level zapcore.LevelEnabler) func(o *Options) {
	return func(o *Options) { o.Level = level }
}

// StacktraceLevel sets Options.StacktraceLevel.
func StacktraceLevel(stacktraceLevel zapcore.LevelEnabler) func(o *Options) {
	return func(o *Options) { o.StacktraceLevel = stacktraceLevel }
}

// RawZapOpts adds to Options.ZapOpts.
func RawZapOpts(zapOpts ...zap.Option) func(o *Options) {
	return func(o *Options) { o.ZapOpts = append(o.ZapOpts, zapOpts...) }
}

// UseFlagOptions copies all settings from Options that flags were bound to. Put it first: options
// after it override it.
func UseFlagOptions(in *Options) Opts {
	return func(o *Options) { *o = *in }
}

func newJSONEncoder(opts ...EncoderConfigOption) zapcore.Encoder {
	return zapcore.NewJSONEncoder(configured(zap.NewProductionEncoderConfig(), opts))
}

func newConsoleEncoder(opts ...EncoderConfigOption) zapcore.Encoder {
	return zapcore.NewConsoleEncoder(configured(zap.NewDevelopmentEncoderConfig(), opts))
}

func configured(config zapcore.EncoderConfig, opts []EncoderConfigOption) zapcore.EncoderConfig {
	for _, opt := range opts {
		opt(&config)
	}
	return config
}

// KubeAwareEncoder writes Kubernetes objects as references: apiVersion, kind, namespace and name. A
// whole Pod is 10 kB of text, and may contain secrets. An object that is a part of something else,
// such as a list, is written in full.
type KubeAwareEncoder struct {
	// Encoder writes everything else.
	zapcore.Encoder
	// Verbose writes objects in full.
	Verbose bool
}

// Clone implements zapcore.Encoder.
func (k *KubeAwareEncoder) Clone() zapcore.Encoder {
	return &KubeAwareEncoder{Encoder: k.Encoder.Clone(), Verbose: k.Verbose}
}

// EncodeEntry implements zapcore.Encoder.
func (k *KubeAwareEncoder) EncodeEntry(
	entry zapcore.Entry, fields []zapcore.Field,
) (*buffer.Buffer, error) {
	if !k.Verbose {
		fields = references(fields)
	}
	return k.Encoder.EncodeEntry(entry, fields)
}

// referringCore does the same for the values in WithValues, which an encoder doesn't see as
// fields. In controller-runtime an object in WithValues is written in full, in each line.
type referringCore struct{ zapcore.Core }

// With implements zapcore.Core.
func (c referringCore) With(fields []zapcore.Field) zapcore.Core {
	return referringCore{c.Core.With(references(fields))}
}

// references returns the fields with references instead of objects. It copies the slice, which the
// caller may use again.
func references(fields []zapcore.Field) []zapcore.Field {
	own := false
	for i, field := range fields {
		if field.Type != zapcore.StringerType && field.Type != zapcore.ReflectType {
			continue
		}
		parts, ok := reference.Of(field.Interface)
		if !ok {
			continue
		}
		if !own {
			fields, own = slices.Clone(fields), true
		}
		fields[i] = zap.Object(field.Key, shown(parts))
	}
	return fields
}

// shown is a reference as a field. The reference of a nil pointer is written as nil.
type shown []reference.Field

var errNil = errors.New("got nil for runtime.Object")

// MarshalLogObject implements zapcore.ObjectMarshaler. zap writes its error beside the field, as
// KEYError.
func (s shown) MarshalLogObject(enc zapcore.ObjectEncoder) error {
	if s == nil {
		return errNil
	}
	for _, field := range s {
		enc.AddString(field.Key, field.Value)
	}
	return nil
}
