package anyvalue

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/util/workqueue"
)

type named struct{}

func (*named) String() string { return "my name" }

// A message that says <nil> or an address does not say which of ten handlers it is about.
func TestAValueIsNamedForMessages(t *testing.T) {
	require.Equal(t, "my name", Name(&named{}, "anyvalue"))
	require.Equal(t, "named", Name(named{}, "anyvalue"))
	require.Equal(t, "anyvalue.named", Name(named{}, ""))
	require.Equal(t, "*int", Name(new(int), ""))
	require.Equal(t, "workqueue.TypedQueueConfig[string]", TypeName(workqueue.TypedQueueConfig[string]{}),
		"only this library's types have a shorter name")
	require.Equal(t, "anyvalue.TestAValueIsNamedForMessages", FunctionName(TestAValueIsNamedForMessages))
	require.Empty(t, FunctionName((func())(nil)))
}

// A nil *Pod in an interface is not equal to nil, and calling its methods panics.
func TestAnInterfaceThatHoldsNilIsNil(t *testing.T) {
	for _, value := range []any{nil, (*named)(nil), (func())(nil), map[string]int(nil), []int(nil), chan int(nil)} {
		require.True(t, IsNil(value), "%T", value)
	}
	for _, value := range []any{0, &named{}, named{}, func() {}, map[string]int{}, []int{}} {
		require.False(t, IsNil(value), "%T", value)
	}
}
