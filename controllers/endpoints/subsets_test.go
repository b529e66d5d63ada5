package endpoints

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// at is the address 10.0.0.n of the Pod with the UID pod-n.
func at(n int) corev1.EndpointAddress {
	return corev1.EndpointAddress{
		IP:        fmt.Sprintf("10.0.0.%d", n),
		TargetRef: &corev1.ObjectReference{Kind: "Pod", UID: types.UID(fmt.Sprintf("pod-%d", n))},
	}
}

func atAll(ns ...int) (addresses []corev1.EndpointAddress) {
	for _, n := range ns {
		addresses = append(addresses, at(n))
	}
	return addresses
}

func port(name string, number int32) corev1.EndpointPort {
	return corev1.EndpointPort{Name: name, Port: number, Protocol: corev1.ProtocolTCP}
}

func ports(ports ...corev1.EndpointPort) []corev1.EndpointPort { return ports }

var http, https, metrics = port("http", 8080), port("https", 8443), port("metrics", 9090)

// show returns subsets as text: addresses with their Pods, those that are not ready in brackets,
// and ports.
func show(subsets []corev1.EndpointSubset) (lines []string) {
	address := func(a corev1.EndpointAddress) string {
		whose := a.IP + " of " + uidOf(&a)
		if a.NodeName != nil {
			whose += " on " + *a.NodeName
		}
		return whose
	}
	for _, s := range subsets {
		var addresses, ports []string
		for _, a := range s.Addresses {
			addresses = append(addresses, address(a))
		}
		for _, a := range s.NotReadyAddresses {
			addresses = append(addresses, "("+address(a)+")")
		}
		for _, p := range s.Ports {
			text := fmt.Sprintf("%s=%d/%s", p.Name, p.Port, p.Protocol)
			if p.AppProtocol != nil {
				text += " as " + *p.AppProtocol
			}
			ports = append(ports, text)
		}
		lines = append(lines, strings.Join(addresses, ", ")+": "+strings.Join(ports, ", "))
	}
	return lines
}

// showMembers returns members as text.
func showMembers(members []member) (lines []string) {
	for _, m := range members {
		s := corev1.EndpointSubset{Ports: m.ports, Addresses: []corev1.EndpointAddress{m.address}}
		if !m.ready {
			s.Addresses, s.NotReadyAddresses = nil, s.Addresses
		}
		lines = append(lines, show([]corev1.EndpointSubset{s})...)
	}
	return lines
}

type packCase struct {
	name    string
	members []member
	want    []corev1.EndpointSubset
}

func packCases() []packCase {
	udp := corev1.EndpointPort{Name: "http", Port: 8080, Protocol: corev1.ProtocolUDP}
	h2c := corev1.EndpointPort{
		Name: "http", Port: 8080, Protocol: corev1.ProtocolTCP,
		AppProtocol: new("kubernetes.io/h2c"),
	}
	empty := corev1.EndpointPort{
		Name: "http", Port: 8080, Protocol: corev1.ProtocolTCP, AppProtocol: new(""),
	}
	other := h2c
	other.AppProtocol = new("kubernetes.io/h2c") // the same in another place
	shared, sharedToo := at(1), at(2)
	sharedToo.IP = shared.IP
	return []packCase{
		{"nobody serves: there is no subset", nil, nil},
		{"addresses with the same port share a subset, and are in order",
			[]member{{at(2), true, ports(http)}, {at(1), true, ports(http)}},
			[]corev1.EndpointSubset{{Addresses: atAll(1, 2), Ports: ports(http)}}},
		{"ports with the same addresses share a subset, and are in order",
			[]member{{at(1), true, ports(https, http)}, {at(2), true, ports(http, https)}},
			[]corev1.EndpointSubset{{Addresses: atAll(1, 2), Ports: ports(http, https)}}},
		{"addresses that are not ready are listed apart",
			[]member{{at(1), false, ports(http)}, {at(2), true, ports(http)}},
			[]corev1.EndpointSubset{{Addresses: atAll(2), NotReadyAddresses: atAll(1),
				Ports: ports(http)}}},
		{"a port that only some addresses have is a subset of its own",
			[]member{{at(1), true, ports(http, metrics)}, {at(2), true, ports(http)}},
			[]corev1.EndpointSubset{{Addresses: atAll(1, 2), Ports: ports(http)},
				{Addresses: atAll(1), Ports: ports(metrics)}}},
		{"a name that means another number in each Pod is two ports",
			[]member{
				{at(1), true, ports(port("http", 80))}, {at(2), true, ports(port("http", 8080))},
			},
			[]corev1.EndpointSubset{{Addresses: atAll(1), Ports: ports(port("http", 80))},
				{Addresses: atAll(2), Ports: ports(port("http", 8080))}}},
		{"subsets that differ in readiness only are two subsets",
			[]member{{at(1), true, ports(http)}, {at(1), false, ports(https)}},
			[]corev1.EndpointSubset{{Addresses: atAll(1), Ports: ports(http)},
				{NotReadyAddresses: atAll(1), Ports: ports(https)}}},
		{"the protocol makes another port",
			[]member{{at(1), true, ports(http)}, {at(2), true, ports(udp)}},
			[]corev1.EndpointSubset{{Addresses: atAll(1), Ports: ports(http)},
				{Addresses: atAll(2), Ports: ports(udp)}}},
		{"an application protocol makes another port",
			[]member{
				{at(1), true, ports(http)}, {at(2), true, ports(h2c)}, {at(3), true, ports(other)},
			},
			[]corev1.EndpointSubset{{Addresses: atAll(1), Ports: ports(http)},
				{Addresses: atAll(2, 3), Ports: ports(h2c)}}},
		{"an application protocol that is empty is not the same as none",
			[]member{{at(1), true, ports(http)}, {at(2), true, ports(empty)}},
			[]corev1.EndpointSubset{{Addresses: atAll(1), Ports: ports(http)},
				{Addresses: atAll(2), Ports: ports(empty)}}},
		{"two Pods of a node's network have one IP and are two addresses",
			[]member{{sharedToo, true, ports(http)}, {shared, true, ports(http)}},
			[]corev1.EndpointSubset{{Addresses: []corev1.EndpointAddress{shared, sharedToo},
				Ports: ports(http)}}},
		{"an address that is there twice is listed once",
			[]member{{at(1), true, ports(http)}, {at(1), true, ports(http)}},
			[]corev1.EndpointSubset{{Addresses: atAll(1), Ports: ports(http)}}},
		{"an address that is there ready and then not ready is not ready",
			[]member{{at(1), true, ports(http)}, {at(1), false, ports(http)}},
			[]corev1.EndpointSubset{{NotReadyAddresses: atAll(1), Ports: ports(http)}}},
		{"an address that is there not ready and then ready is not ready, either",
			[]member{
				{at(1), false, ports(http)}, {at(1), true, ports(http)}, {at(2), true, ports(http)},
			},
			[]corev1.EndpointSubset{{Addresses: atAll(2), NotReadyAddresses: atAll(1),
				Ports: ports(http)}}},
		{"addresses without ports are not lost",
			[]member{{at(2), true, nil}, {at(1), false, nil}},
			[]corev1.EndpointSubset{{Addresses: atAll(2), NotReadyAddresses: atAll(1)}}},
		{"addresses without ports are a subset of their own",
			[]member{{at(1), true, ports(http)}, {at(1), true, nil}},
			[]corev1.EndpointSubset{{Addresses: atAll(1)},
				{Addresses: atAll(1), Ports: ports(http)}}},
	}
}

// A client would find a port at an address that does not serve it, or miss one that does.
func TestEachPortIsListedWithTheAddressesThatServeIt(t *testing.T) {
	for _, c := range packCases() {
		require.Equal(t, show(c.want), show(pack(c.members)), c.name)
	}
}

// fact is that an address serves on a port.
type fact struct {
	ip, uid string
	port    portKey
}

// facts returns whether each address is ready on each port. Not ready wins.
func facts(members []member) map[fact]bool {
	all := map[fact]bool{}
	for _, m := range members {
		keys := []portKey{{}}
		if len(m.ports) > 0 {
			keys = nil
		}
		for i := range m.ports {
			keys = append(keys, keyOf(&m.ports[i]))
		}
		for _, key := range keys {
			f := fact{m.address.IP, uidOf(&m.address), key}
			ready, known := all[f]
			all[f] = m.ready && (ready || !known)
		}
	}
	return all
}

// randomMembers has few addresses and ports, so that many are equal.
func randomMembers(random *rand.Rand) []member {
	all := ports(http, https, metrics, port("", 80), port("http", 80),
		corev1.EndpointPort{Name: "http", Port: 80, Protocol: corev1.ProtocolSCTP,
			AppProtocol: new("x")})
	members := make([]member, random.IntN(12))
	for i := range members {
		m := &members[i]
		m.address, m.ready = at(random.IntN(6)), random.IntN(3) > 0
		switch random.IntN(6) {
		case 0:
			m.address.NodeName = new("n1")
		case 1:
			m.address.TargetRef = nil
		case 2:
			m.address.IP = "10.0.0.9"
		}
		for range random.IntN(3) {
			m.ports = append(m.ports, all[random.IntN(len(all))])
		}
	}
	return members
}

// Each reconcile would write the same addresses in another order.
func TestTheOrderOfThePodsDoesNotMatter(t *testing.T) {
	random := rand.New(rand.NewPCG(19, 1))
	for range 3000 {
		members := randomMembers(random)
		want := show(pack(members))
		random.Shuffle(len(members), func(i, j int) {
			members[i], members[j] = members[j], members[i]
		})
		before := showMembers(members)
		require.Equal(t, want, show(pack(members)),
			"the same in another order must lead to the same")
		require.Equal(t, before, showMembers(members), "the caller's list must stay as it is")
	}
}

// The controller would write again what is packed already.
func TestPackingAgainChangesNothing(t *testing.T) {
	random := rand.New(rand.NewPCG(19, 2))
	for range 3000 {
		once := pack(randomMembers(random))
		require.Equal(t, show(once), show(pack(unpack(once))), "what is packed must stay as it is")
	}
}

// An address would be lost, or get connections twice.
func TestNothingIsLostAndNothingIsDoubled(t *testing.T) {
	random := rand.New(rand.NewPCG(19, 3))
	for range 3000 {
		members := randomMembers(random)
		subsets := pack(members)
		said := map[fact]bool{}
		for _, m := range unpack(subsets) {
			for f, ready := range facts([]member{m}) {
				_, known := said[f]
				require.False(t, known, "%v is said twice", f)
				said[f] = ready
			}
		}
		for f, ready := range facts(members) {
			got, known := said[f]
			require.True(t, known, "%v is lost", f)
			require.Equal(t, ready, got, "%v: is it ready?", f)
			delete(said, f)
		}
		require.Empty(t, said, "nobody has said that")
	}
}

// The object would be larger than it needs to be: the same addresses again, with another port.
func TestNoTwoSubsetsCouldBeOne(t *testing.T) {
	random := rand.New(rand.NewPCG(19, 4))
	for range 3000 {
		subsets := pack(randomMembers(random))
		for i, a := range subsets {
			require.True(t, slices.IsSortedFunc(a.Ports, comparePorts))
			for _, b := range subsets[:i] {
				if len(a.Ports) > 0 && len(b.Ports) > 0 {
					require.Negative(t, comparePorts(b.Ports[0], a.Ports[0]),
						"subsets are in the order of their first ports")
					isSame := slices.EqualFunc(a.Addresses, b.Addresses, sameAddress) &&
						slices.EqualFunc(a.NotReadyAddresses, b.NotReadyAddresses, sameAddress)
					require.False(t, isSame, "they could be one: %v",
						show([]corev1.EndpointSubset{a, b}))
				}
			}
		}
	}
}

// subsetOf returns a subset with this many addresses, from the first number on.
func subsetOf(first, ready, notReady int) (s corev1.EndpointSubset) {
	for i := range ready {
		s.Addresses = append(s.Addresses, at(first+i))
	}
	for i := range notReady {
		s.NotReadyAddresses = append(s.NotReadyAddresses, at(first+ready+i))
	}
	return s
}

// shares returns the numbers of addresses in each subset.
func shares(subsets []corev1.EndpointSubset) (numbers [][2]int) {
	for _, s := range subsets {
		numbers = append(numbers, [2]int{len(s.Addresses), len(s.NotReadyAddresses)})
	}
	return numbers
}

// A port would have no address left, or addresses that do not answer instead of some that do.
func TestWhatIsTooMuchIsLeftOut(t *testing.T) {
	for _, c := range []struct {
		name       string
		have, left [][2]int
		is         bool
	}{
		{"no more than there may be", [][2]int{{6, 3}, {1, 0}}, [][2]int{{6, 3}, {1, 0}}, false},
		{"one too many", [][2]int{{6, 5}}, [][2]int{{6, 4}}, true},
		{
			"those that are not ready go first", [][2]int{{6, 9}, {3, 1}}, [][2]int{{6, 1}, {3, 0}},
			true,
		},
		{"what is left is divided", [][2]int{{1, 8}, {1, 8}}, [][2]int{{1, 4}, {1, 4}}, true},
		{
			"none is left for those that are not ready", [][2]int{{5, 9}, {5, 1}},
			[][2]int{{5, 0}, {5, 0}}, true,
		},
		{
			"more are ready than there may be", [][2]int{{30, 9}, {10, 1}},
			[][2]int{{8, 0}, {2, 0}}, true,
		},
		{
			"shares are rounded up, and the last gets less", [][2]int{{7, 0}, {7, 0}, {7, 0}},
			[][2]int{{4, 0}, {4, 0}, {2, 0}}, true,
		},
		{
			"a subset without addresses is left out", [][2]int{{20, 0}, {0, 5}}, [][2]int{{10, 0}},
			true,
		},
		{"the last may get none", [][2]int{{1, 0}, {1, 0}, {1, 0}, {1, 0}, {1, 0}, {1, 0}, {1, 0},
			{1, 0}, {1, 0}, {1, 0}, {1, 0}},
			[][2]int{
				{1, 0}, {1, 0}, {1, 0}, {1, 0}, {1, 0}, {1, 0}, {1, 0}, {1, 0}, {1, 0}, {1, 0},
			},
			true},
	} {
		var have []corev1.EndpointSubset
		for i, n := range c.have {
			have = append(have, subsetOf(100*i, n[0], n[1]))
		}
		left, over := truncate(have, 10)
		require.Equal(t, c.left, shares(left), c.name)
		require.Equal(t, c.is, over, c.name)
	}
}

// The API server has no such limit: a larger object costs each watch that gets it.
func TestAsManyAddressesAreKeptAsThereMayBe(t *testing.T) {
	random := rand.New(rand.NewPCG(19, 5))
	for range 300 {
		var subsets []corev1.EndpointSubset
		for i := range 1 + random.IntN(6) {
			subsets = append(subsets, subsetOf(1000*i, random.IntN(80), 1+random.IntN(80)))
		}
		const most = 100
		before := slices.Clone(subsets)
		ready, notReady := count(subsets)
		left, over := truncate(subsets, most)
		leftReady, leftNotReady := count(left)
		require.Equal(t, before, subsets, "the caller's list must stay as it is")
		require.Equal(t, ready+notReady > most, over)
		require.Equal(t, min(ready, most), leftReady)
		require.Equal(t, min(notReady, most-leftReady), leftNotReady)
		for _, s := range left {
			require.NotZero(t, len(s.Addresses)+len(s.NotReadyAddresses),
				"the API server refuses a subset without addresses")
		}
		again, over := truncate(left, most)
		require.False(t, over)
		require.Equal(t, left, again)
	}
}

// Frequent writes of a large object keep each node busy.
func TestTheRestAfterAWriteIsAsLongAsTheObjectIsLarge(t *testing.T) {
	require.Zero(t, restAfter(nil))
	require.Equal(t, time.Millisecond,
		restAfter([]corev1.EndpointSubset{subsetOf(0, 1, 2), subsetOf(3, 2, 0)}))
	require.Equal(t, 200*time.Millisecond,
		restAfter([]corev1.EndpointSubset{subsetOf(0, maxAddresses, 0)}))
}
