package inlined

import "testing"

func TestACounterCounts(t *testing.T) {
	count := Counter()
	if got := count() + count(); got != 3 {
		t.Errorf("got %d", got)
	}
}

func TestACounterIsNotAllocated(t *testing.T) {
	if got := testing.AllocsPerRun(10, func() { Counter()() }); got != 0 {
		t.Errorf("got %v", got)
	}
}
