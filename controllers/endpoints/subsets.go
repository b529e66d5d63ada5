package endpoints

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Endpoints could list each address with its ports. With a thousand addresses on two ports, each
// port would stand there a thousand times. So they consist of subsets: some addresses and some
// ports, and each of the addresses serves on each of the ports.
//
// The same addresses can be grouped and ordered in many ways. A controller that chose another way
// at each reconcile would write forever. So there's one canonical form, which doesn't depend on
// the order in which Pods are listed.

// member is an address and the ports on which it serves. It has no ports if it belongs to a
// headless Service without ports.
type member struct {
	address corev1.EndpointAddress
	ready   bool
	ports   []corev1.EndpointPort
}

// column is a port and the addresses that serve on it.
type column struct {
	port  *corev1.EndpointPort // nil for addresses without ports
	seats []seat               // in the order of addresses
}

// seat is an address, by its number, and whether it's ready on this port.
type seat struct {
	address int
	ready   bool
}

// pack groups members into subsets, in the canonical form: ports with the same addresses, ready and
// not ready, share a subset. So each port is in one subset. Subsets are in the order of their first
// ports.
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

// tabulate returns all addresses and the columns, both sorted. It merges duplicates of an address;
// the result is ready on a port only if all of them are.
func tabulate(members []member) (addresses []corev1.EndpointAddress, columns []column) {
	sorted := make([]*member, len(members))
	for i := range members {
		sorted[i] = &members[i]
	}
	slices.SortFunc(sorted, func(a, b *member) int {
		return compareAddresses(&a.address, &b.address)
	})
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

// portKey is a port by value. The zero value stands for no port, because every port has a number.
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

// maxAddresses is how many addresses Endpoints may have. Each change sends the whole object to each
// node that watches it; larger Services need EndpointSlices.
const maxAddresses = 1000

// restPerAddress is how long the controller waits, for each address, before it writes the same
// Endpoints again. The cost of a write grows with the object. So it may write those of three Pods
// again at once, and those of a thousand Pods five times a second. A single change never waits.
const restPerAddress = 200 * time.Microsecond

// restAfter returns the time to wait after these subsets were written.
func restAfter(subsets []corev1.EndpointSubset) time.Duration {
	ready, notReady := count(subsets)
	return time.Duration(ready+notReady) * restPerAddress
}

// truncate drops addresses until at most this many are left, and reports whether there were more.
// An address in two subsets counts twice.
//
// It drops those that aren't ready first. It divides the rest among the subsets in proportion to
// their sizes, so that no port is without an address while others have hundreds. It rounds shares
// up, so the last subsets may get less. It keeps the first addresses of a subset, which are the
// same at each reconcile.
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
		// the API server refuses a subset without any
		if len(s.Addresses)+len(s.NotReadyAddresses) > 0 {
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

func count(subsets []corev1.EndpointSubset) (ready, notReady int) {
	for i := range subsets {
		ready += len(subsets[i].Addresses)
		notReady += len(subsets[i].NotReadyAddresses)
	}
	return ready, notReady
}
