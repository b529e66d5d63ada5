// Bug: columns, and so the subsets, are in the order of a map.
package endpoints

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

func tabulate(members []member) (addresses []corev1.EndpointAddress, columns []column) {
	sorted := make([]*member, len(members))
	for i := range members {
		sorted[i] = &members[i]
	}
	slices.SortFunc(sorted, func(a, b *member) int { return compareAddresses(&a.address, &b.address) })
	table := map[portKey]*column{}
	for _, m := range sorted {
		if n := len(addresses); n == 0 || compareIdentities(&addresses[n-1], &m.address) != 0 {
			addresses = append(addresses, m.address)
		}
		at := seat{len(addresses) - 1, m.ready}
		if len(m.ports) == 0 {
			table[portKey{}] = table[portKey{}].with(nil, at)
		}
		for i := range m.ports {
			key := keyOf(&m.ports[i])
			table[key] = table[key].with(&m.ports[i], at)
		}
	}
	for _, c := range table {
		columns = append(columns, *c)
	}
	slices.SortStableFunc(columns, func(a, b column) int { return len(b.seats) - len(a.seats) })
	return addresses, columns
}
