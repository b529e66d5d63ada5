package workqueue

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// A queue may hold a million alarms. What most of them do not have must not cost them anything.
func TestAnAlarmWithoutAReasonTakesSixteenBytesForItsCauses(t *testing.T) {
	var c alarmCauses
	require.LessOrEqual(t, unsafe.Sizeof(c), uintptr(16))
	require.Zero(t, testing.AllocsPerRun(100, func() {
		c.set(Causes{Count: 1})
		c.merge(Causes{Count: 2})
	}))
	require.Nil(t, c.reasons)
	require.Equal(t, Causes{Count: 3}, c.all())
}

func TestTheCausesOfAnAlarmAreAllThatCame(t *testing.T) {
	var c alarmCauses
	c.set(because("old"))
	c.set(Causes{Count: 1})
	require.Equal(t, Causes{Count: 1}, c.all(), "set forgets the reasons of earlier work")

	c.merge(because("x"))
	c.merge(because("y"))
	c.merge(because("x"))
	require.Equal(t, "x, y (4 adds)", c.all().String())
}

// What a worker got must not change when the alarm is used again.
func TestTheCausesThatAWorkerHasAreItsOwn(t *testing.T) {
	var c alarmCauses
	c.set(because("x"))
	given := c.all()
	c.set(because("later"))
	require.Equal(t, "x", given.String())
}
