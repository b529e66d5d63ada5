package shelf

import "testing"

func TestWhatWasPutComesBack(t *testing.T) {
	var s Shelf
	s.Put("cup")
	if got := s.Last(); got != "cup" {
		t.Errorf("got %q", got)
	}
}

func TestAShelfCountsItsThings(t *testing.T) {
	var s Shelf
	s.Put("cup")
	if got := s.Count(); got != 1 {
		t.Errorf("got %d", got)
	}
}
