// Bug: addresses stay in the order in which the Pods are listed.
package endpoints

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

func tabulate(members []member) (addresses []corev1.EndpointAddress, columns []column) {
	table := map[portKey]*column{}
	for i := range members {
		m := &members[i]
		n := slices.IndexFunc(addresses, func(a corev1.EndpointAddress) bool { return compareIdentities(&a, &m.address) == 0 })
		if n < 0 {
			n, addresses = len(addresses), append(addresses, m.address)
		}
		at := seat{n, m.ready}
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
