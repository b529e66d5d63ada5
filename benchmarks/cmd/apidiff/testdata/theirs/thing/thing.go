// Package thing has one declaration for each way to differ.
package thing

import (
	"io"
	"time"

	"github.com/loopwright/loopwright/benchmarks/cmd/apidiff/testdata/theirs/internal/hidden"
	"github.com/loopwright/loopwright/benchmarks/cmd/apidiff/testdata/theirs/later"
)

const (
	Same             = 3
	OtherValue       = "a"
	OtherType  Level = 1
	NoConstant       = 1
)

type Level int

type Thing = hidden.Thing

func Hidden() *hidden.Unseen { return nil }

func HiddenLess() *hidden.Unseen { return nil }

func Later(later.Later) {}

func Missing() {}

func SameFunc(a int, b ...string) (io.Reader, error) { return nil, nil }

func OtherParameter(a int) {}

func OtherVariadic(a ...int) {}

var FuncVar = SameFunc

var Variable time.Duration

var NoVariable int

type NoType struct{}

type Struct struct {
	Kept    Level
	Lost    int
	Changed int
	Tagged  int `json:"a"`
	Embedded
	unseen int
}

type Embedded struct{ In int }

func (Struct) ByValue()          {}
func (Struct) ByPointer()        {}
func (*Struct) LostMethod()      {}
func (Struct) ChangedMethod(int) {}

type Comparable struct{ A int }

type NoStruct struct{ A int }

type Interface interface {
	Kept()
	Changed(a int)
	Lost()
}

type Sealed interface{ Kept() }

type NoInterface interface{ Kept() }

type Map map[Level]chan<- [2]int

type OtherDirection chan<- int

type OtherLength [2]int

func OtherNamed(Level) {}

type Tree struct{ Left, Right *Tree }

type Node struct{ next *Node }

func (n *Node) Next() *Node { return n.next }

type Generic[T any] struct {
	Items []T
	Of    func(T) *Generic[T]
}

type GenericOther[T any] struct{ Items []T }

type GenericLess[T any] struct{ Items []T }
