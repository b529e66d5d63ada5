// Bug: two Pods with the IP of their node are taken for one.
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
		if n := len(addresses); n == 0 || addresses[n-1].IP != m.address.IP {
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
	slices.SortFunc(columns, func(a, b column) int {
		if a.port == nil || b.port == nil {
			return compareNil(a.port, b.port)
		}
		return comparePorts(*a.port, *b.port)
	})
	return addresses, columns
}
