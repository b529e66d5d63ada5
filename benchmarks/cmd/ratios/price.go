package main

import (
	"cmp"
	"slices"
)

// mini is the course's part, where a workload has one. It is not compared with the originals: it shows what the
// library's additions cost.
const mini = "mini"

// price is what one workload costs in mini, beside a row that says what it costs in the library and in the original.
type price struct {
	row
	Mini float64 // the median
}

// prices are those rows for which mini was measured, too: time, and the memory that stays.
func prices(rows []row, all measurements) (list []price) {
	for _, r := range rows {
		values := slices.Sorted(slices.Values(all[measure{r.Subject, r.Workload, mini, r.Unit}]))
		short := slices.Contains([]string{"cpu-sec/op", "B/op", "allocs/op", peakMemory}, r.Unit)
		if r.Ours == "ours" && len(values) > 0 && !short {
			list = append(list, price{r, values[len(values)/2]})
		}
	}
	slices.SortFunc(list, func(a, b price) int {
		return cmp.Or(cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.Workload, b.Workload), cmp.Compare(a.Original, b.Original))
	})
	return list
}
