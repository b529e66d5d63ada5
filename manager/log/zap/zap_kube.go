package zap

import (
	"errors"
	"slices"

	"go.uber.org/zap"
	"go.uber.org/zap/buffer"
	"go.uber.org/zap/zapcore"

	"github.com/loopwright/loopwright/manager/log/internal/reference"
)

// KubeAwareEncoder writes objects of Kubernetes as references: apiVersion, kind, namespace and name. A
// whole Pod is 10 kB of text, and has secrets in it at worst.
type KubeAwareEncoder struct {
	// Encoder writes all the rest.
	zapcore.Encoder
	// Verbose writes objects in full.
	Verbose bool
}

// Clone implements zapcore.Encoder.
func (k *KubeAwareEncoder) Clone() zapcore.Encoder {
	return &KubeAwareEncoder{Encoder: k.Encoder.Clone(), Verbose: k.Verbose}
}

// EncodeEntry implements zapcore.Encoder.
func (k *KubeAwareEncoder) EncodeEntry(entry zapcore.Entry, fields []zapcore.Field) (*buffer.Buffer, error) {
	if !k.Verbose {
		fields = references(fields)
	}
	return k.Encoder.EncodeEntry(entry, fields)
}

// referringCore does the same for the values that a logger is made with, which an encoder does not get
// to see as fields. In controller-runtime an object in WithValues is written in full, in each line.
type referringCore struct{ zapcore.Core }

// With implements zapcore.Core.
func (c referringCore) With(fields []zapcore.Field) zapcore.Core {
	return referringCore{c.Core.With(references(fields))}
}

// references returns the fields with references in place of objects. The slice belongs to the caller,
// who may use it again, and is not changed.
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

// shown is a reference; that of an object that is a nil pointer is nil.
type shown []reference.Field

var errNil = errors.New("got nil for runtime.Object")

// MarshalLogObject implements zapcore.ObjectMarshaler. Its error is written beside the field, as KEYError.
func (s shown) MarshalLogObject(enc zapcore.ObjectEncoder) error {
	if s == nil {
		return errNil
	}
	for _, field := range s {
		enc.AddString(field.Key, field.Value)
	}
	return nil
}
