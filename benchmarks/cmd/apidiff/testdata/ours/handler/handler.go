// Package handler has plain types under the aliases' names.
package handler

import (
	"github.com/loopwright/loopwright/benchmarks/cmd/apidiff/testdata/ours/client"
	"github.com/loopwright/loopwright/benchmarks/cmd/apidiff/testdata/ours/reconcile"
	"github.com/loopwright/loopwright/benchmarks/cmd/apidiff/testdata/queues/ours"
)

type Handler interface {
	Create(o client.Object, q queue.TypedInterface[reconcile.Request])
}

type Funcs struct {
	CreateFunc func(o client.Object, q queue.TypedInterface[reconcile.Request])
	Next       Handler
}

func (Funcs) Create(client.Object, queue.TypedInterface[reconcile.Request]) {}

type MapFunc func(o client.Object) []reconcile.Request

type Changed struct{ Object any }

func Wrap[object client.Object, request comparable](h Handler) Handler { return h }

func WrapLess(h Handler) Handler { return h }

func WrapOther[object client.Object, request comparable](h Handler) Handler { return h }

func Constrained[object interface {
	client.Object
	comparable
}](o object) {
}

type Opt[object any, request comparable] func(*options)

type options struct{ most int }

type Embeds struct{ Funcs }

type EmbedsLess struct{ Handler }

type Wrapper[object any, request comparable] struct{ Inner Handler }

func Limit[object any, request comparable](n int) Opt[object, request] { return nil }

type Limits struct {
	Limiter queue.Limiter[reconcile.Request]
	Gone    []map[string]*int
}

// TypedMapFunc is generic here, too.
type TypedMapFunc[object any, request comparable] func(o object) []request
