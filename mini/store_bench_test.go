package mini_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func BenchmarkStoreGet(b *testing.B) {
	s := newStore()
	for i := range 1000 {
		s.Update(configMap(fmt.Sprint(i), "red"))
	}
	wanted := mapKey("500")
	for b.Loop() {
		s.Get(wanted)
	}
}

func BenchmarkStoreUpdate(b *testing.B) {
	s := newStore()
	red, blue := configMap("a", "red"), configMap("a", "blue")
	for b.Loop() {
		s.Update(red)
		red, blue = blue, red
	}
}

func BenchmarkStoreListOf1000(b *testing.B) {
	s := newStore()
	for i := range 1000 {
		s.Update(configMap(fmt.Sprint(i), "red"))
	}
	for b.Loop() {
		s.List()
	}
}

func BenchmarkStoreByIndex10Of1000(b *testing.B) {
	s := newStore()
	for i := range 1000 {
		s.Update(configMap(fmt.Sprint(i), fmt.Sprint(i%100)))
	}
	for b.Loop() {
		objs, err := s.ByIndex("value", "7")
		if err != nil || len(objs) != 10 {
			require.Len(b, objs, 10)
		}
	}
}
