// Package thing has names of each kind.
package thing

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	queue "github.com/loopwright/loopwright/benchmarks/cmd/dropin/testdata/queues/theirs"
	"github.com/loopwright/loopwright/benchmarks/cmd/dropin/testdata/theirs/pkg/client"
	"github.com/loopwright/loopwright/benchmarks/cmd/dropin/testdata/theirs/pkg/internal/hidden"
)

const Constant = 7

type Struct struct{}

// Public is how the world calls a hidden type.
type Public = hidden.Hidden

type Generic[object any, request comparable] struct {
	Object object
	Key    request
}

// GenericLess has a type parameter less here.
type GenericLess[T any] struct{ Item T }

// Short is an alias of a generic type.
type Short = Generic[client.Object, string]

var Variable client.Object

// Unnamed has a type that nobody can write.
var Unnamed unnamed

type unnamed struct{}

type options struct{}

// Option can be passed on, and not written by anybody else.
func Option(*options) {}

func New(ctx context.Context, o metav1.Object, h *hidden.Hidden) (*Struct, error) { return nil, nil }

func Nothing(int, ...string) {}

func Inferred[object client.Object](first int, list ...object) Generic[object, string] {
	return Generic[object, string]{}
}

// Borrowed takes what we have a type of our own for.
func Borrowed() queue.Func { return nil }

// Secret has a type in its signature that has no public name.
func Secret(list []hidden.Secret) {}

func OtherResult() int { return 0 }

// FromOther refers to a name that isn't here.
func FromOther(g GenericLess[int]) {}

func Missing() {}

// ByHand is written by hand.
func ByHand() string { return "theirs" }
