// Package thing is ours.
package thing

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/benchmarks/cmd/dropin/testdata/ours/manager/client"
	queue "github.com/loopwright/loopwright/benchmarks/cmd/dropin/testdata/queues/ours"
)

const Constant = 7

type Struct struct{}

type Public struct{}

type Generic[object any, request comparable] struct {
	Object object
	Key    request
}

type GenericLess struct{ Item any }

type Short = Generic[client.Object, string]

var Variable client.Object

var Unnamed unnamed

type unnamed struct{}

type options struct{}

func Option(*options) {}

func New(ctx context.Context, o metav1.Object, h *Public) (*Struct, error) { return nil, nil }

func Nothing(int, ...string) {}

func Inferred[object client.Object, one any](first one, list ...object) Generic[object, string] {
	return Generic[object, string]{}
}

func Borrowed() queue.Func { return nil }

func Secret(list []Public) {}

func OtherResult() string { return "" }

func FromOther(g GenericLess) {}

func ByHand() string { return "ours" }
