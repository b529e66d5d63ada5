//go:build figures

// This file lets the figures of the book use the cores of package endpoints, which are not exported. It is compiled
// into that package by an overlay (docs/book/figures/build), and is no part of any other build. What reads from a
// cluster or writes to one is left out there.

package endpoints

import corev1 "k8s.io/api/core/v1"

// controllerName is for labels, which no figure shows. The real one is in a file that is left out.
const controllerName = ""

// Subsets are those of a Service that selects these Pods.
func Subsets(service *corev1.Service, pods []*corev1.Pod) []corev1.EndpointSubset {
	return pack(membersOf(service, pods))
}

// Column is a port in the table from which subsets are made, and who serves on it.
type Column struct {
	Name  string
	Port  int32
	Seats map[string]bool // by IP; true if the address is ready
}

// Table is that table.
func Table(service *corev1.Service, pods []*corev1.Pod) (ips []string, table []Column) {
	addresses, columns := tabulate(membersOf(service, pods))
	for i := range addresses {
		ips = append(ips, addresses[i].IP)
	}
	for _, c := range columns {
		column := Column{c.port.Name, c.port.Port, map[string]bool{}}
		for _, at := range c.seats {
			column.Seats[addresses[at.address].IP] = at.ready
		}
		table = append(table, column)
	}
	return ips, table
}
