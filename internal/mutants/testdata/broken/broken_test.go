package broken

import "testing"

func TestOneIsTwo(t *testing.T) {
	if One() != 2 {
		t.Error("one is not two")
	}
}
