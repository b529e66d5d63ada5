// Bug: ports share a subset if they have as many addresses.
package endpoints

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

func pack(members []member) []corev1.EndpointSubset {
	addresses, columns := tabulate(members)
	var subsets []corev1.EndpointSubset
	var of []column
	for _, c := range columns {
		same := func(other column) bool {
			return other.port != nil && c.port != nil && len(other.seats) == len(c.seats)
		}
		if i := slices.IndexFunc(of, same); i >= 0 {
			subsets[i].Ports = append(subsets[i].Ports, *c.port)
			continue
		}
		of, subsets = append(of, c), append(subsets, c.subset(addresses))
	}
	return subsets
}
