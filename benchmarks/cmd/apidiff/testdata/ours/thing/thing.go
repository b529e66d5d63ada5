package thing

import (
	"io"
	"time"
)

const (
	Same       = 3
	OtherValue = "b"
	OtherType  = 1
)

func NoConstant() {}

type Level int

type Thing struct{ Name string }

func (*Thing) Do() {}

type unseen struct{ Size, More int }

func (u *unseen) Again() *unseen { return u }

func Hidden() *unseen { return nil }

type unseenLess struct{ Size string }

func (u *unseenLess) Again() *unseenLess { return u }

func HiddenLess() *unseenLess { return nil }

type later struct{ Name string }

func Later(later) {}

func SameFunc(a int, b ...string) (io.Reader, error) { return nil, nil }

func OtherParameter(a string) {}

func OtherVariadic(a []int) {}

func FuncVar(a int, b ...string) (io.Reader, error) { return nil, nil }

var Variable time.Duration

func NoVariable() {}

func NoType() {}

type Struct struct {
	Kept     Level
	Changed  string
	Tagged   int `json:"b"`
	Embedded Embedded
	Added    bool
}

type Embedded struct{ In int }

func (Struct) ByValue()             {}
func (*Struct) ByPointer()          {}
func (Struct) ChangedMethod(string) {}
func (*Struct) AddedMethod()        {}

type Comparable struct {
	A int
	b []int
}

type NoStruct []int

type Interface interface {
	Kept()
	Changed(a string)
	Added()
}

type Sealed interface {
	Kept()
	sealed()
}

type NoInterface struct{}

type Map map[Level]chan<- [2]int

type OtherDirection <-chan int

type OtherLength [3]int

type Grade int

func OtherNamed(Grade) {}

type Tree struct{ Left, Right *Tree }

type Node struct{ next *Node }

func (n *Node) Next() *Node { return n.next }

type Generic[T any] struct {
	Items []T
	Of    func(T) *Generic[T]
}

type GenericOther[T any] struct{ Items map[string]T }

type GenericLess struct{ Items []any }

func Added() {}
