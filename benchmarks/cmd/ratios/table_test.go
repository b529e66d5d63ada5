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

// The log goes to the same output as the results. Whoever measures for an hour wants to know which
// benchmark it was, and must not get a table with a figure missing.
func TestALineThatCannotBeReadIsNamed(t *testing.T) {
	for _, line := range []string{
		"BenchmarkStore/ours-2 \t2026/11/22 01:02:03 INFO no WatchList here", // the result follows on a line of its own
		"BenchmarkStore/ours-2 \t 100\t 50.0 ns/op\t level=INFO",
		"BenchmarkStore/ours-2 \t 100\t 50.0 ns/op level=INFO msg=none",
		"BenchmarkStore/ours-2 \t 100",
	} {
		_, err := parse(strings.NewReader("goos: linux\nBenchmarkStore\n" + line + "\n 100\t 50.0 ns/op\n"))
		require.ErrorContains(t, err, "line 3 is no result of a benchmark", line)
		require.ErrorContains(t, err, "BenchmarkStore/ours-2", line)
	}
}
