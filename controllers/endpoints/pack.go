package endpoints

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Endpoints could list each address with its ports. With a thousand addresses on two ports, this would say everything
// twice. So they consist of subsets: some addresses and some ports, and each of the addresses serves on each of the
// ports.
//
// The same facts can be written in many ways. A controller that writes them in another order after each look would
// write forever. So there is one form, and it does not depend on the order in which Pods are listed.

// member is an address and the ports on which it serves. One without ports is an address of a headless Service that has
// none.
type member struct {
	address corev1.EndpointAddress
	ready   bool
	ports   []corev1.EndpointPort
}

// column is a port and who serves on it.
type column struct {
	port  *corev1.EndpointPort // nil for addresses without ports
	seats []seat               // in the order of addresses
}

// seat is an address, by its number, and whether it is ready on this port.
type seat struct {
	address int
	ready   bool
}

// pack puts members into subsets, in the canonical form: ports on which the same addresses serve, and are ready, share
// a subset. So each port is in one subset. Subsets are in the order of their first ports.
func pack(members []member) []corev1.EndpointSubset {
	addresses, columns := tabulate(members)
	var subsets []corev1.EndpointSubset
	var of []column // the first column of each subset
	for _, c := range columns {
		same := func(other column) bool {
			return other.port != nil && c.port != nil && slices.Equal(other.seats, c.seats)
		}
		if i := slices.IndexFunc(of, same); i >= 0 {
			subsets[i].Ports = append(subsets[i].Ports, *c.port)
			continue
		}
		of, subsets = append(of, c), append(subsets, c.subset(addresses))
	}
	return subsets
}

// tabulate returns all addresses, and the columns, each in their order. An address that is there more than once is one
// address; if it is ready once and once not, it is not ready.
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
	slices.SortFunc(columns, func(a, b column) int {
		if a.port == nil || b.port == nil {
			return compareNil(a.port, b.port)
		}
		return comparePorts(*a.port, *b.port)
	})
	return addresses, columns
}

// with adds a seat to a column, or to a new one.
func (c *column) with(port *corev1.EndpointPort, at seat) *column {
	if c == nil {
		c = &column{port: port}
	}
	if n := len(c.seats); n > 0 && c.seats[n-1].address == at.address {
		c.seats[n-1].ready = c.seats[n-1].ready && at.ready
		return c
	}
	c.seats = append(c.seats, at)
	return c
}

func (c *column) subset(addresses []corev1.EndpointAddress) (s corev1.EndpointSubset) {
	for _, at := range c.seats {
		if at.ready {
			s.Addresses = append(s.Addresses, addresses[at.address])
		} else {
			s.NotReadyAddresses = append(s.NotReadyAddresses, addresses[at.address])
		}
	}
	if c.port != nil {
		s.Ports = []corev1.EndpointPort{*c.port}
	}
	return s
}

// portKey is a port by value. That of no port is empty, and each port has a number.
type portKey struct {
	name, protocol, appProtocol string
	hasAppProtocol              bool
	number                      int32
}

func keyOf(port *corev1.EndpointPort) portKey {
	key := portKey{name: port.Name, protocol: string(port.Protocol), number: port.Port}
	if port.AppProtocol != nil {
		key.appProtocol, key.hasAppProtocol = *port.AppProtocol, true
	}
	return key
}

// unpack is the opposite of pack: it takes subsets in any form.
func unpack(subsets []corev1.EndpointSubset) (members []member) {
	for _, s := range subsets {
		for _, address := range s.Addresses {
			members = append(members, member{address, true, s.Ports})
		}
		for _, address := range s.NotReadyAddresses {
			members = append(members, member{address, false, s.Ports})
		}
	}
	return members
}

// maxAddresses is how many addresses Endpoints may have. The object is sent as a whole, with each change, to each node
// that watches it; what needs more has EndpointSlices.
const maxAddresses = 1000

// restPerAddress says how long the controller leaves Endpoints alone after it has written them. A write costs the
// cluster as much as the object is large. So those of three Pods may be written again at once, and those of a thousand
// five times a second. A change that comes alone never waits.
const restPerAddress = 200 * time.Microsecond

// restAfter is the time to rest after these subsets were written.
func restAfter(subsets []corev1.EndpointSubset) time.Duration {
	ready, notReady := count(subsets)
	return time.Duration(ready+notReady) * restPerAddress
}

// truncate leaves as many addresses in the subsets as there may be, and reports whether there were more. An address that
// is in two subsets counts twice.
//
// Those that are not ready go first. What is left is divided among the subsets in proportion, so that no port is without
// an address while others have hundreds. Shares are rounded up, so the last subsets may get less. The first addresses
// of a subset stay, which are the same ones each time.
func truncate(subsets []corev1.EndpointSubset, most int) ([]corev1.EndpointSubset, bool) {
	ready, notReady := count(subsets)
	if ready+notReady <= most {
		return subsets, false
	}
	readyShares := share{of: min(ready, most), among: ready}
	notReadyShares := share{of: most - readyShares.of, among: notReady}
	var left []corev1.EndpointSubset
	for _, s := range subsets {
		s.Addresses = readyShares.take(s.Addresses)
		s.NotReadyAddresses = notReadyShares.take(s.NotReadyAddresses)
		if len(s.Addresses)+len(s.NotReadyAddresses) > 0 { // the API server refuses a subset without any
			left = append(left, s)
		}
	}
	return left, true
}

// share divides some places among addresses.
type share struct {
	of    int // places
	among int // addresses
	taken int
}

func (s *share) take(addresses []corev1.EndpointAddress) []corev1.EndpointAddress {
	if len(addresses) == 0 {
		return nil
	}
	n := min((len(addresses)*s.of+s.among-1)/s.among, s.of-s.taken)
	if s.taken += n; n == 0 {
		return nil
	}
	return addresses[:n:n]
}

// count is how many addresses subsets have.
func count(subsets []corev1.EndpointSubset) (ready, notReady int) {
	for i := range subsets {
		ready += len(subsets[i].Addresses)
		notReady += len(subsets[i].NotReadyAddresses)
	}
	return ready, notReady
}
