package shards

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/cluster"
)

func TestMain(m *testing.M) {
	RunIfReplica()
	cluster.EndWithParent()
	os.Exit(m.Run())
}

func bits(objects int, set ...int) []byte {
	done := make([]byte, (objects+7)/8)
	for _, i := range set {
		done[i/8] |= 1 << (i % 8)
	}
	return done
}

// A takeover would end with the first of a dead replica's objects, or with objects that it never had.
func TestOnlyTheObjectsOfTheDeadAreAwaited(t *testing.T) {
	tally := newTally(20)
	tally.note(0, bits(20, 0, 1, 2, 9, 19))
	require.Equal(t, 15, tally.open)
	tally.note(1, bits(20, 2, 3))
	require.Equal(t, []int{0, 0, 1, 1, -1}, tally.last[:5])
	tally.await(func(object int) bool { return tally.last[object] == 0 })
	require.Equal(t, 4, tally.open)
	tally.note(1, bits(20, 3, 4, 9))
	tally.note(1, bits(20, 9))
	require.Equal(t, 3, tally.open)
	tally.note(1, bits(20, 0, 1, 19))
	require.Zero(t, tally.open)
}

// A page whose table is lost, or written twice, would quote old figures.
func TestTheTableReplacesTheOneBefore(t *testing.T) {
	page := "before\n" + beginning + "\n" + end + "\nafter\n"
	for _, row := range []Row{{Replicas: 3}, {Replicas: 4, Gate: true, Takeover: time.Second, Peak: 5e6}} {
		var err error
		page, err = Replace(page, Table([]Row{row}))
		require.NoError(t, err)
	}
	require.Equal(t, 1, strings.Count(page, "| gate |"))
	require.Contains(t, page, "| on | 4 | 5.0 MB |")
	require.Contains(t, page, "| 1.0 s |\n\n"+end+"\nafter")
	_, err := Replace("no table", "")
	require.Error(t, err)
}

// The real thing takes 20 minutes, and would fail at its end.
func TestASmallMeasurementOnARealServer(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a cluster, which -short leaves out")
	}
	var log bytes.Buffer
	var rows []Row
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	err := Measure(ctx, Options{
		Objects: 200, Namespaces: 40, Replicas: []int{1, 2}, Work: time.Millisecond,
		LeaseDuration: 6 * time.Second, Limit: 5 * time.Minute, Log: &log,
	}, func(row Row) { rows = append(rows, row) })
	require.NoError(t, err, log.String())
	require.Len(t, rows, 4)
	for i, row := range rows {
		require.Equal(t, i < 2, row.Gate)
		require.Equal(t, row.Replicas > 1, row.Takeover > 0, "%+v", row)
		require.Positive(t, row.Received)
		require.Positive(t, row.PerSecond)
		require.Positive(t, row.Steady)
	}
	alone := rows[0].Received
	require.Greater(t, alone, int64(200*1000), "the objects' own bytes")
}
