package main

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

const measured = `goos: linux
Benchmark06/an_item_through_Add,_Get_and_Done/workers=1/mini-2   100   423.1 ns/op
Benchmark06/an_item_through_Add,_Get_and_Done/workers=1/client-go-2   100   297.6 ns/op
Benchmark06/an_item_through_Add,_Get_and_Done/workers=100/mini-2   100   22081 ns/op
Benchmark06/one_that_waits/waiting=1/mini   100   1000000000 ns/op
PASS
`

func TestEachQuestionHasARowForEachSizeAndAColumnForEachPeer(t *testing.T) {
	var all table
	require.NoError(t, all.add([]byte(measured), ""))
	require.NoError(t, all.add([]byte("Benchmark06/an_item_through_Add,_Get_and_Done/workers=1/mini-2 100 500 ns/op\n"), "yours"))
	require.Equal(t, `
an item through Add, Get and Done
                  mini   client-go   yours
     workers=1   420ns       300ns   500ns
   workers=100    22µs

one that waits
               mini
   waiting=1     1s
`, all.String())
}

func TestAResultThatIsNoAnswerIsAnError(t *testing.T) {
	require.ErrorContains(t, new(table).add([]byte("Benchmark06/a/b-2 100 500 ns/op\n"), ""), "question/size/who")
	require.ErrorContains(t, new(table).add([]byte("Benchmark06/a/b/c-2 100 500 B/op\n"), ""), "no time")
}

// Figures of one run aren't facts yet.
func TestARowOnWhichTwoRunsDisagreeIsLeftOut(t *testing.T) {
	row := func(size string, mini, original float64) string {
		return fmt.Sprintf("Benchmark06/a/%[1]s/mini 100 %[2]f ns/op\nBenchmark06/a/%[1]s/client-go 100 %[3]f ns/op\n", size, mini, original)
	}
	var one, other table
	require.NoError(t, one.add([]byte(row("n=1", 100, 200)+row("n=2", 100, 200)+row("n=3", 100, 200)), ""))
	require.NoError(t, other.add([]byte(row("n=1", 108, 204)+row("n=2", 100, 240)+row("n=3", 150, 300)), ""))
	both, without := agreed(&one, &other)
	require.Equal(t, `
a
          mini   client-go
   n=1   100ns       200ns
`, both.String(), "the means, rounded")
	require.Equal(t, []string{"a, n=2: client-go took 2.00 times what mini took, and then 2.40 times", "a, n=3: mini took 100ns, and then 150ns"}, without)
}

func TestAQuestionWithoutARowLeftIsNotAsked(t *testing.T) {
	var one, other table
	require.NoError(t, one.add([]byte("Benchmark06/a/n=1/mini 100 100 ns/op\n"), ""))
	require.NoError(t, other.add([]byte("Benchmark06/a/n=1/mini 100 200 ns/op\n"), ""))
	both, without := agreed(&one, &other)
	require.Empty(t, both.String())
	require.Len(t, without, 1)
}
