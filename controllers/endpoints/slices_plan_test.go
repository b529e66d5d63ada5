package endpoints

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// board has the slices of a Service.
type board struct {
	service *corev1.Service
	have    []*discoveryv1.EndpointSlice
	made    int
}

func newBoard(changes ...func(*corev1.Service)) *board {
	service := webService(changes...)
	service.UID = "web-uid"
	return &board{service: service}
}

// carryOut makes a plan for these Pods, changes the board as an API server would, and returns the
// writes as text.
func (b *board) carryOut(most int, pods ...*corev1.Pod) (did []string) {
	p := planOf(wantedOf(b.service, pods, someNodes), b.have, most)
	for _, slice := range p.create {
		b.made++
		slice.Name, slice.UID = fmt.Sprintf("s%02d", b.made),
			types.UID(fmt.Sprint("slice-", b.made))
		b.have = append(b.have, slice)
		did = append(did, "create "+showSlice(slice))
	}
	for _, slice := range p.update {
		i := slices.IndexFunc(b.have, func(s *discoveryv1.EndpointSlice) bool {
			return s.Name == slice.Name
		})
		b.have[i] = slice
		did = append(did, "update "+showSlice(slice))
	}
	for _, slice := range p.remove {
		b.have = slices.DeleteFunc(b.have, func(s *discoveryv1.EndpointSlice) bool {
			return s.Name == slice.Name
		})
		did = append(did, "delete "+slice.Name)
	}
	return did
}

// showSlice returns a slice as text: name, the last numbers of its addresses, ports.
func showSlice(slice *discoveryv1.EndpointSlice) string {
	var addresses, ports []string
	for i := range slice.Endpoints {
		text := slice.Endpoints[i].Addresses[0]
		if text = text[strings.LastIndexAny(text, ".:")+1:]; !*slice.Endpoints[i].Conditions.Ready {
			text = "(" + text + ")"
		}
		addresses = append(addresses, text)
	}
	for _, port := range portsIn(slice) {
		ports = append(ports, fmt.Sprint(port.Port))
	}
	kind := map[discoveryv1.AddressType]string{
		discoveryv1.AddressTypeIPv6: " IPv6",
	}[slice.AddressType]
	return fmt.Sprintf("%s%s [%s] on [%s]", slice.Name, kind, strings.Join(addresses, " "),
		strings.Join(ports, " "))
}

func podsOf(numbers ...int) (pods []*corev1.Pod) {
	for _, n := range numbers {
		pods = append(pods, runningPod(n))
	}
	return pods
}

// Each line has a change of the Pods, and the writes that it leads to: an endpoint that moved
// without need would be sent to all nodes.
func TestSlicesAreWrittenWhereSomethingHasChanged(t *testing.T) {
	b := newBoard()
	step := func(why string, pods []*corev1.Pod, want ...string) {
		t.Helper()
		require.Equal(t, want, b.carryOut(3, pods...), why)
		require.Empty(t, b.carryOut(3, pods...), "%s: and nothing more", why)
	}
	step("a Service without Pods has an empty slice", nil, "create s01 [] on []")
	step("which becomes the first", podsOf(1), "update s01 [1] on [8080]")
	step("there is room", podsOf(1, 2), "update s01 [1 2] on [8080]")
	step("there is no room for two", podsOf(1, 2, 3, 4), "create s02 [3 4] on [8080]")
	step("both have room, and the fullest is filled", podsOf(1, 2, 3, 4, 5),
		"update s01 [1 2 5] on [8080]")
	step("the second has room", podsOf(1, 2, 3, 4, 5, 6), "update s02 [3 4 6] on [8080]")
	step("all are full", podsOf(1, 2, 3, 4, 5, 6, 7), "create s03 [7] on [8080]")
	step("nothing moves up when one goes", podsOf(1, 3, 4, 5, 6, 7), "update s01 [1 5] on [8080]")
	step("a slice that is written anyway is filled", podsOf(1, 3, 5, 6, 7, 8),
		"update s02 [3 6 8] on [8080]")
	step("what does not fit into the rest of one is a new slice", podsOf(1, 3, 5, 6, 7, 8, 9, 2, 4),
		"create s04 [2 4 9] on [8080]")
	step("an empty one goes", podsOf(1, 3, 5, 6, 7, 8), "delete s04")
	step("an empty one goes, if there is room for what comes", podsOf(1, 3, 5, 6, 8, 9),
		"update s01 [1 5 9] on [8080]", "delete s03")
	step("all go, and one stays", nil, "update s01 [] on []", "delete s02")
}

func TestTheStateOfAnEndpointIsWrittenInItsPlace(t *testing.T) {
	b := newBoard()
	b.carryOut(2, podsOf(1, 2, 3)...)
	require.Equal(t, []string{"update s02 [(3)] on [8080]"},
		b.carryOut(2, append(podsOf(1, 2), runningPod(3, notReady))...))
	moved := runningPod(2, withIPs("10.0.0.20"))
	require.Equal(t, []string{"update s01 [1 20] on [8080]"},
		b.carryOut(2, runningPod(1), moved, runningPod(3, notReady)), "another address")
	again := runningPod(2, withIPs("10.0.0.20"), func(p *corev1.Pod) { p.UID = "again" })
	require.Equal(t, []string{"update s01 [1 20] on [8080]"},
		b.carryOut(2, runningPod(1), again, runningPod(3, notReady)), "another Pod of that name")
}

// A slice that is nearly empty may soon become empty, and go, if new endpoints fill the fullest
// one.
func TestTheFullestSliceWithRoomIsFilled(t *testing.T) {
	b := newBoard()
	b.carryOut(4, podsOf(1, 2, 3, 4, 5, 6, 7, 8)...)
	b.carryOut(4, podsOf(1, 5, 6, 7)...)
	require.Equal(t, []string{"update s02 [5 6 7 9]"},
		withoutPortsIn(b.carryOut(4, podsOf(1, 5, 6, 7, 9)...)), "none has to be written")
	b.carryOut(4, podsOf(1, 5, 6, 7)...)
	pods := append(podsOf(6, 7, 9), runningPod(1, notReady), runningPod(5, notReady))
	require.Equal(t, []string{"update s01 [(1)]", "update s02 [(5) 6 7 9]"},
		withoutPortsIn(b.carryOut(4, pods...)), "both have to be written")
	b.have[0].Labels["team"] = "search"
	require.Equal(t, []string{"update s01 [(1) 2]"},
		withoutPortsIn(b.carryOut(5, append(pods, runningPod(2))...)), "one has to be written")
}

func withoutPortsIn(lines []string) (short []string) {
	for _, line := range lines {
		short = append(short, strings.TrimSuffix(line, " on [8080]"))
	}
	return short
}

// Reusing a slice that is no longer needed takes one write instead of two.
func TestASliceIsUsedForOtherPorts(t *testing.T) {
	b := newBoard()
	b.carryOut(2, podsOf(1, 2, 3)...)
	b.service.Spec.Ports[0].TargetPort = intstr.FromInt32(9000)
	require.Equal(t, []string{"update s01 [1 2] on [9000]", "update s02 [3] on [9000]"},
		b.carryOut(2, podsOf(1, 2, 3)...))
	newVersion := func(p *corev1.Pod) { p.Spec.Containers[0].Ports[0].ContainerPort = 7000 }
	b.service.Spec.Ports[0].TargetPort = intstr.FromString("http")
	b.carryOut(2, podsOf(1, 2, 3)...)
	require.Equal(t, []string{"create s03 [4] on [7000]"},
		b.carryOut(2, append(podsOf(1, 2, 3), runningPod(4, newVersion))...))
	require.Equal(t, []string{"update s03 [4 5] on [7000]", "delete s02"},
		b.carryOut(2, append(podsOf(1, 2), runningPod(4, newVersion),
			runningPod(5, newVersion))...))
}

func TestEachAddressTypeHasItsOwnSlices(t *testing.T) {
	b := newBoard(families(corev1.IPv4Protocol, corev1.IPv6Protocol))
	both := runningPod(1, withIPs("10.0.0.1", "fd00::1"))
	require.Equal(t, []string{"create s01 [] on []", "create s02 IPv6 [] on []"}, b.carryOut(3))
	require.Equal(t, []string{"update s01 [1] on [8080]", "update s02 IPv6 [1] on [8080]"},
		b.carryOut(3, both))
	require.Equal(t, []string{"update s01 [1 2] on [8080]"}, b.carryOut(3, both, runningPod(2)))
	b.service.Spec.IPFamilies = b.service.Spec.IPFamilies[:1]
	require.Equal(t, []string{"delete s02"}, b.carryOut(3, both, runningPod(2)),
		"the Service has one family now")
}

// Another client, or another version of the controller, may have written the slices.
func TestSlicesThatAreNotAsTheyShouldBeAreRepaired(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(b *board)
		want   []string
	}{
		{"an endpoint that nobody knows", func(b *board) {
			b.have[0].Endpoints = append(b.have[0].Endpoints,
				discoveryv1.Endpoint{Addresses: []string{"192.0.2.1"},
					Conditions: b.have[0].Endpoints[0].Conditions})
		}, []string{"update s01 [1 2] on [8080]"}},
		{"an endpoint twice", func(b *board) {
			b.have[1].Endpoints = append(b.have[1].Endpoints, b.have[0].Endpoints[0])
		}, []string{"update s02 [3] on [8080]"}},
		{"an endpoint twice in one slice", func(b *board) {
			b.have[1].Endpoints = append(b.have[1].Endpoints, b.have[1].Endpoints[0])
		}, []string{"update s02 [3] on [8080]"}},
		{"a slice twice", func(b *board) {
			twin := b.have[1].DeepCopy()
			twin.Name = "s09"
			b.have = append(b.have, twin)
		}, []string{"delete s09"}},
		{"other ports", func(b *board) {
			b.have[1].Ports = nil
		}, []string{"update s02 [3] on [8080]"}},
		{"a port without a number", func(b *board) {
			b.have[1].Ports[0].Port = nil
		}, []string{"update s02 [3] on [8080]"}},
		{"another label", func(b *board) {
			b.have[0].Labels["team"] = "search"
		}, []string{"update s01 [1 2] on [8080]"}},
		{"the label of a headless Service", func(b *board) {
			b.have[0].Labels["service.kubernetes.io/headless"] = ""
		}, []string{"update s01 [1 2] on [8080]"}},
		{"too many endpoints", func(b *board) {
			b.have[0].Endpoints = append(b.have[0].Endpoints, b.have[1].Endpoints...)
			b.have[1].Endpoints = nil
		}, []string{"update s01 [1 2] on [8080]", "update s02 [3] on [8080]"}},
		{"no endpoints", func(b *board) {
			b.have[1].Endpoints = nil
		}, []string{"update s02 [3] on [8080]"}},
		{"of an older Service of that name", func(b *board) {
			b.have[1].OwnerReferences[0].UID = "older"
		}, []string{"create s03 [3] on [8080]", "delete s02"}},
		{"about to go", func(b *board) {
			b.have[1].DeletionTimestamp = new(metav1.NewTime(noon))
		}, []string{"create s03 [3] on [8080]"}},
		{"no difference but the order", func(b *board) {
			slices.Reverse(b.have[0].Endpoints)
		}, nil},
		{"annotations", func(b *board) {
			b.have[0].Annotations = map[string]string{"mine": "yes"}
		}, nil},
	} {
		b := newBoard()
		b.carryOut(2, podsOf(1, 2, 3)...)
		c.change(b)
		require.Equal(t, c.want, b.carryOut(2, podsOf(1, 2, 3)...), c.name)
		require.Empty(t, b.carryOut(2, podsOf(1, 2, 3)...), c.name)
	}
}

func TestOfSeveralEmptySlicesOneIsLeft(t *testing.T) {
	b := newBoard()
	b.carryOut(2, podsOf(1, 2, 3)...)
	for _, slice := range b.have {
		slice.Endpoints = nil
	}
	b.have[1].Ports = nil
	require.Equal(t, []string{"delete s01"}, b.carryOut(2), "the one that is as it should be stays")
}

// state returns the content of all slices, without the distribution.
func (b *board) state() (lines []string) {
	for _, slice := range b.have {
		for i := range slice.Endpoints {
			lines = append(lines, fmt.Sprint(slice.AddressType, portsIn(slice),
				showEndpoint(&slice.Endpoints[i]), slice.Endpoints[i].TargetRef.Name))
		}
	}
	slices.Sort(lines)
	return lines
}

// randomPods returns some of many Pods; some are not ready, and some have another port.
func randomPods(random *rand.Rand, of int) (pods []*corev1.Pod) {
	for n := range of {
		pod := runningPod(n, withIPs(fmt.Sprintf("10.0.1.%d", n), fmt.Sprintf("fd00::%x", n+1)))
		if random.IntN(5) == 0 {
			notReady(pod)
		}
		pod.Spec.Containers[0].Ports[0].ContainerPort += int32(random.IntN(8) / 7)
		if random.IntN(3) > 0 {
			pods = append(pods, pod)
		}
	}
	random.Shuffle(len(pods), func(i, j int) { pods[i], pods[j] = pods[j], pods[i] })
	return pods
}

func TestWhateverHappensEachEndpointIsInOneSliceAndNoneIsTooLarge(t *testing.T) {
	for seed := range uint64(30) {
		random := rand.New(rand.NewPCG(seed, 1))
		most := 1 + random.IntN(9)
		old := newBoard(families(corev1.IPv4Protocol, corev1.IPv6Protocol))
		for range 12 {
			pods := randomPods(random, 40)
			old.carryOut(most, pods...)
			fresh := newBoard(families(corev1.IPv4Protocol, corev1.IPv6Protocol))
			random.Shuffle(len(pods), func(i, j int) { pods[i], pods[j] = pods[j], pods[i] })
			fresh.carryOut(most, pods...)
			require.Equal(t, fresh.state(), old.state(),
				"seed %d: what is said does not depend on what there was, nor on the order", seed)
			require.Len(t, old.state(), 2*len(pods), "seed %d", seed)
			for _, slice := range old.have {
				require.LessOrEqual(t, len(slice.Endpoints), most, "seed %d", seed)
			}
			random.Shuffle(len(old.have), func(i, j int) {
				old.have[i], old.have[j] = old.have[j], old.have[i]
			})
			require.Empty(t, old.carryOut(most, pods...),
				"seed %d: a second plan has nothing to do", seed)
		}
	}
}

// A change of one endpoint must write one slice, and no more.
func TestOneEndpointIsOneWrite(t *testing.T) {
	for seed := range uint64(30) {
		random := rand.New(rand.NewPCG(seed, 2))
		most := 1 + random.IntN(9)
		b := newBoard()
		pods := randomPods(random, 40)
		b.carryOut(most, pods...)
		for n := range 40 {
			switch random.IntN(3) {
			case 0:
				pods = append(pods, runningPod(100+n))
			case 1:
				pods = slices.Delete(pods, 0, 1)
			case 2:
				i := random.IntN(len(pods))
				pods[i] = pods[i].DeepCopy()
				pods[i].Spec.NodeName = map[string]string{"n1": "n2",
					"n2": "n1"}[pods[i].Spec.NodeName]
			}
			before := b.have
			require.Len(t, b.carryOut(most, pods...), 1, "seed %d, step %d: %v", seed, n, before)
		}
	}
}

func TestAPlanLeavesWhatTheCacheHas(t *testing.T) {
	b := newBoard()
	b.carryOut(2, podsOf(1, 2, 3)...)
	var before []*discoveryv1.EndpointSlice
	for _, slice := range b.have {
		before = append(before, slice.DeepCopy())
	}
	have := slices.Clone(b.have)
	for _, pods := range [][]*corev1.Pod{nil, podsOf(4, 3, 2), podsOf(1, 5, 6, 7, 8)} {
		p := planOf(wantedOf(b.service, pods, someNodes), have, 2)
		for _, slice := range p.update {
			stamp(slice, noon)
		}
	}
	require.Equal(t, before, have)
}
