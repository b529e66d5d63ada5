// Package handler has Typed names, and aliases of them.
package handler

import (
	"github.com/loopwright/loopwright/benchmarks/cmd/apidiff/testdata/queues/theirs"
	"github.com/loopwright/loopwright/benchmarks/cmd/apidiff/testdata/theirs/client"
	"github.com/loopwright/loopwright/benchmarks/cmd/apidiff/testdata/theirs/reconcile"
)

type Handler = TypedHandler[client.Object, reconcile.Request]

type TypedHandler[object any, request comparable] interface {
	Create(o object, q queue.TypedInterface[request])
}

type Funcs = TypedFuncs[client.Object, reconcile.Request]

type TypedFuncs[object any, request comparable] struct {
	CreateFunc func(o object, q queue.TypedInterface[request])
	Next       TypedHandler[object, request]
}

func (TypedFuncs[object, request]) Create(object, queue.TypedInterface[request]) {}

type MapFunc = TypedMapFunc[client.Object, reconcile.Request]

type TypedMapFunc[object any, request comparable] func(o object) []request

// Changed differs in the type arguments only.
type Changed = TypedChanged[client.Object]

type TypedChanged[object any] struct{ Object object }

func NewTypedFuncs() {}

func Wrap[object client.Object, request comparable](h TypedHandler[object, request]) TypedHandler[object, request] {
	return h
}

func WrapLess[object client.Object, request comparable](h TypedHandler[object, request]) TypedHandler[object, request] {
	return h
}

func WrapOther[object client.Object, request comparable](h TypedHandler[object, request]) Funcs {
	return Funcs{}
}

func Constrained[object client.Object](o object) {}

type Opt[object any, request comparable] func(*secret[object, request])

type secret[object any, request comparable] struct{ limit int }

func (*secret[object, request]) Use() {}

// Embeds embeds something Typed.
type Embeds struct {
	TypedFuncs[client.Object, reconcile.Request]
}

// EmbedsLess does, too.
type EmbedsLess struct {
	TypedFuncs[client.Object, reconcile.Request]
}

// Wrapper is generic, and not Typed, but holds something Typed.
type Wrapper[object any, request comparable] struct{ Inner TypedHandler[object, request] }

func Limit[object any, request comparable](n int) Opt[object, request] { return nil }

type Limits struct {
	Limiter queue.TypedLimiter[reconcile.Request]
	Gone    []map[string]*queue.Gone
}
