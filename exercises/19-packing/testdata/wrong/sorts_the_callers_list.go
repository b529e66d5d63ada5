// Bug: the caller's list is sorted.
package endpoints

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

func tabulate(members []member) (addresses []corev1.EndpointAddress, columns []column) {
	slices.SortFunc(members, func(a, b member) int { return compareAddresses(&a.address, &b.address) })
	table := map[portKey]*column{}
	for i := range members {
		m := &members[i]
		if n := len(addresses); n == 0 || compareIdentities(&addresses[n-1], &m.address) != 0 {
			addresses = append(addresses, m.address)
		}
		at := seat{len(addresses) - 1, m.ready}
		if len(m.ports) == 0 {
			table[portKey{}] = table[portKey{}].with(nil, at)
		}
		for j := range m.ports {
			key := keyOf(&m.ports[j])
			table[key] = table[key].with(&m.ports[j], at)
		}
	}
	for _, c := range table {
		columns = append(columns, *c)
	}
	slices.SortFunc(columns, func(a, b column) int {
		if a.port == nil || b.port == nil {
			return compareNil(a.port, b.port)
		}
		return comparePorts(*a.port, *b.port)
	})
	return addresses, columns
}
