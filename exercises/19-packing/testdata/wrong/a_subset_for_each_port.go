// Bug: each port gets a subset of its own, with all addresses again.
package endpoints

import corev1 "k8s.io/api/core/v1"

func pack(members []member) []corev1.EndpointSubset {
	addresses, columns := tabulate(members)
	var subsets []corev1.EndpointSubset
	for _, c := range columns {
		subsets = append(subsets, c.subset(addresses))
	}
	return subsets
}
