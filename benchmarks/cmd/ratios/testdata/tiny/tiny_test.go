// Package tiny is what the tests of ratios measure.
package tiny

import (
	"fmt"
	"testing"
	"time"
)

var kept []byte

// BenchmarkKeep keeps bytes: ours keeps half of what the original does. The reference is compared with nobody.
func BenchmarkKeep(b *testing.B) {
	for _, size := range []int{100, 200, 400, 800} {
		b.Run(fmt.Sprintf("size=%d", size), func(b *testing.B) {
			for variant, bytes := range map[string]int{"ours": size, "client-go": 2 * size, "no-store": size} {
				b.Run(variant, func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						kept = make([]byte, bytes)
					}
					b.ReportMetric(float64(2*time.Millisecond.Milliseconds()), "cpu-ms/op")
				})
			}
		})
	}
}

// BenchmarkAlone has nobody beside it.
func BenchmarkAlone(b *testing.B) {
	b.Run("ours", func(b *testing.B) {
		for b.Loop() {
			kept = nil
		}
	})
}

// BenchmarkBroken fails.
func BenchmarkBroken(b *testing.B) {
	b.Run("ours", func(*testing.B) {})
	b.Run("client-go", func(b *testing.B) { b.Fatal("the store is broken") })
}

// BenchmarkHangs waits for something that does not come.
func BenchmarkHangs(b *testing.B) {
	b.Run("ours", func(*testing.B) { time.Sleep(time.Hour) })
}
