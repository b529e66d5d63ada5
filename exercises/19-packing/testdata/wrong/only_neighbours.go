// Bug: a port shares a subset only with the port before it.
package endpoints

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

func pack(members []member) []corev1.EndpointSubset {
	addresses, columns := tabulate(members)
	var subsets []corev1.EndpointSubset
	for i, c := range columns {
		if i > 0 && columns[i-1].port != nil && slices.Equal(columns[i-1].seats, c.seats) {
			last := &subsets[len(subsets)-1]
			last.Ports = append(last.Ports, *c.port)
			continue
		}
		subsets = append(subsets, c.subset(addresses))
	}
	return subsets
}
