// Bug: ports share a subset if they have the same addresses, whether these are ready or not.
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
		sameSeat := func(a, b seat) bool { return a.address == b.address }
		same := func(other column) bool {
			return other.port != nil && c.port != nil && slices.EqualFunc(other.seats, c.seats, sameSeat)
		}
		if i := slices.IndexFunc(of, same); i >= 0 {
			subsets[i].Ports = append(subsets[i].Ports, *c.port)
			continue
		}
		of, subsets = append(of, c), append(subsets, c.subset(addresses))
	}
	return subsets
}
