package main

import (
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
                    mini   client-go     yours
     workers=1   423.1ns     297.6ns   500.0ns
   workers=100   22.08µs

one that waits
                 mini
   waiting=1   1.000s
`, all.String())
}

func TestAResultThatIsNoAnswerIsAnError(t *testing.T) {
	require.ErrorContains(t, new(table).add([]byte("Benchmark06/a/b-2 100 500 ns/op\n"), ""), "question/size/who")
	require.ErrorContains(t, new(table).add([]byte("Benchmark06/a/b/c-2 100 500 B/op\n"), ""), "no time")
}
