package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEachPeerIsComparedWithOurs(t *testing.T) {
	results, err := parse(strings.NewReader(`goos: linux
BenchmarkStore/10-keys/ours-2         	 100	 50.0 ns/op	 0 B/op	 0 allocs/op
BenchmarkStore/10-keys/client-go-2    	 100	 100 ns/op	 32 B/op	 1 allocs/op
BenchmarkStore/10-keys/client-go-2    	 100	 150 ns/op	 32 B/op	 1 allocs/op
BenchmarkStore/10-keys/client-go-2    	 100	 900 ns/op	 32 B/op	 1 allocs/op
BenchmarkAlone-2                      	 100	 1 ns/op
PASS
`))
	require.NoError(t, err)
	var table strings.Builder
	require.NoError(t, show(&table, results))
	lines := strings.Split(strings.TrimSpace(table.String()), "\n")
	require.Len(t, lines, 4)
	require.Equal(t, []string{"Store/10-keys", "client-go", "ns/op", "50", "150", "3.00"}, strings.Fields(lines[1]))
	require.Equal(t, []string{"Store/10-keys", "client-go", "B/op", "0", "32", "all", "saved"}, strings.Fields(lines[2]))
}

func TestNothingToCompareIsAnError(t *testing.T) {
	results, err := parse(strings.NewReader("PASS\n"))
	require.NoError(t, err)
	require.Error(t, show(&strings.Builder{}, results))
}
