package endpoints

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

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
