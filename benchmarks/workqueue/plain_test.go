package workqueue

import "testing"

// BenchmarkCycle adds 10,000 different items, then gets and finishes them all. One
// operation is one item.
func BenchmarkCycle(b *testing.B) {
	keys := Requests(10_000)
	for _, peer := range Peers {
		b.Run(peer.Name, func(b *testing.B) {
			q := peer.Make()
			defer q.ShutDown()
			cycle := func() {
				for _, key := range keys {
					q.Add(key)
				}
				for range keys {
					item, _ := q.Get()
					q.Done(item)
				}
			}
			cycle() // the first grows the maps
			b.ReportAllocs()
			b.ResetTimer()
			for done := 0; done < b.N; done += len(keys) {
				cycle()
			}
		})
	}
}
