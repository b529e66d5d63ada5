package endpoints

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Endpoints have one form, and the controller writes that. With slices this would be wrong. If a hundred endpoints had
// to be in order in each slice, the first Pod that goes would move one endpoint out of each slice into the one before,
// and all of them would have to be written. So the plan begins with what is there: an endpoint stays in its slice, and
// what is new goes where there is room. The same facts may be in slices in many ways, and each of them is good.

// plan is what to do so that the slices say what they should.
type plan struct {
	create, update, remove []*discoveryv1.EndpointSlice
}

// draft is a slice as it should be.
type draft struct {
	was       *discoveryv1.EndpointSlice // the slice that it was before; nil for a new one
	addresses discoveryv1.AddressType
	ports     []corev1.EndpointPort
	endpoints []discoveryv1.Endpoint
	changed   bool // it has to be written in any case
}

// planOf says how the slices that there are become what is wanted, with no more than most endpoints in each.
//
// Each address type is planned apart. A slice that has no use any more becomes one that is needed: an update instead of
// a creation and a deletion. A Service without endpoints has one empty slice, so that whoever looks can tell that it has
// none from not knowing yet.
func planOf(want wanted, have []*discoveryv1.EndpointSlice, most int) (p plan) {
	have = slices.SortedFunc(slices.Values(have), func(a, b *discoveryv1.EndpointSlice) int { return cmp.Compare(a.Name, b.Name) })
	own := map[discoveryv1.AddressType][]*discoveryv1.EndpointSlice{}
	for _, slice := range have {
		switch {
		case slice.DeletionTimestamp != nil: // it is about to go, whatever is written into it
		case !want.owns(slice) || !slices.Contains(want.addressTypes, slice.AddressType):
			p.remove = append(p.remove, slice)
		default:
			own[slice.AddressType] = append(own[slice.AddressType], slice)
		}
	}
	for _, addresses := range want.addressTypes {
		drafts, spare := draftsOf(want, addresses, own[addresses], most)
		if len(drafts) == 0 {
			drafts = []*draft{{addresses: addresses}}
		}
		spare = reuse(want, drafts, spare)
		for _, d := range drafts {
			switch {
			case d.was == nil:
				p.create = append(p.create, want.object(d))
			case !want.isIn(d.was, d):
				p.update = append(p.update, want.object(d))
			}
		}
		p.remove = append(p.remove, spare...)
	}
	return p
}

// draftsOf distributes the endpoints of one address type. spare are the slices that are left over.
func draftsOf(want wanted, addresses discoveryv1.AddressType, have []*discoveryv1.EndpointSlice, most int) (drafts []*draft, spare []*discoveryv1.EndpointSlice) {
	spare = have
	for _, g := range want.groups {
		if g.addresses != addresses {
			continue
		}
		var fitting, others []*discoveryv1.EndpointSlice
		for _, slice := range spare {
			if samePorts(portsIn(slice), g.ports) {
				fitting = append(fitting, slice)
			} else {
				others = append(others, slice)
			}
		}
		filled, empty := fill(want, g, fitting, most)
		drafts, spare = append(drafts, filled...), append(others, empty...)
	}
	return drafts, spare
}

// fill distributes the endpoints of a group. What is in a slice stays there, if there is room. What is new goes into
// slices that have to be written anyway, the fullest first; then into the one slice that has just enough room for all
// that is left; and else into new ones. empty are the slices in which nothing is left.
func fill(want wanted, g group, have []*discoveryv1.EndpointSlice, most int) (filled []*draft, empty []*discoveryv1.EndpointSlice) {
	left := newUnplaced(g.endpoints)
	for _, slice := range have {
		d := &draft{was: slice, addresses: g.addresses, ports: g.ports, changed: !want.isMarked(slice)}
		for i := range slice.Endpoints {
			endpoint, ok := left.like(&slice.Endpoints[i])
			if !ok || len(d.endpoints) == most {
				d.changed = true
				continue
			}
			left.take(endpoint)
			d.endpoints = append(d.endpoints, *endpoint)
			d.changed = d.changed || !sameEndpoint(endpoint, &slice.Endpoints[i])
		}
		if len(d.endpoints) > 0 {
			filled = append(filled, d)
		} else {
			empty = append(empty, slice)
		}
	}
	rest := left.all()
	byFullness := slices.Clone(filled)
	slices.SortStableFunc(byFullness, func(a, b *draft) int { return len(b.endpoints) - len(a.endpoints) })
	for _, d := range byFullness {
		if d.changed {
			rest = d.add(rest, most)
		}
	}
	for len(rest) > 0 {
		d := &draft{addresses: g.addresses, ports: g.ports}
		if i := slices.IndexFunc(byFullness, func(d *draft) bool { return !d.changed && len(d.endpoints)+len(rest) <= most }); i >= 0 {
			d = byFullness[i]
		} else {
			filled = append(filled, d)
		}
		rest = d.add(rest, most)
	}
	return filled, empty
}

// add moves endpoints into a draft while there is room, and returns the others.
func (d *draft) add(endpoints []discoveryv1.Endpoint, most int) []discoveryv1.Endpoint {
	n := min(len(endpoints), most-len(d.endpoints))
	d.endpoints = append(d.endpoints, endpoints[:n]...)
	d.changed = d.changed || n > 0
	return endpoints[n:]
}

// reuse gives slices that are left over to drafts that have none, and returns the others. For the draft of an empty slice,
// one that is empty already is the best.
func reuse(want wanted, drafts []*draft, spare []*discoveryv1.EndpointSlice) []*discoveryv1.EndpointSlice {
	spare = slices.Clone(spare)
	for _, d := range drafts {
		if d.was != nil || len(spare) == 0 {
			continue
		}
		saysSo := func(slice *discoveryv1.EndpointSlice) bool { return want.isIn(slice, d) }
		best := max(slices.IndexFunc(spare, saysSo), 0)
		d.was = spare[best]
		spare = slices.Delete(spare, best, best+1)
	}
	return spare
}

// unplaced are endpoints that are in no draft yet.
type unplaced struct {
	endpoints []discoveryv1.Endpoint
	at        map[types.UID]int // the UID of a Pod -> its place in endpoints
}

func newUnplaced(endpoints []discoveryv1.Endpoint) unplaced {
	u := unplaced{endpoints, make(map[types.UID]int, len(endpoints))}
	for i := range endpoints {
		u.at[endpoints[i].TargetRef.UID] = i
	}
	return u
}

// like finds the endpoint of the same Pod.
func (u unplaced) like(endpoint *discoveryv1.Endpoint) (*discoveryv1.Endpoint, bool) {
	if endpoint.TargetRef == nil {
		return nil, false
	}
	i, ok := u.at[endpoint.TargetRef.UID]
	if !ok {
		return nil, false
	}
	return &u.endpoints[i], true
}

func (u unplaced) take(endpoint *discoveryv1.Endpoint) { delete(u.at, endpoint.TargetRef.UID) }

// all are the endpoints that were not taken, in their order.
func (u unplaced) all() (rest []discoveryv1.Endpoint) {
	for i := range u.endpoints {
		if _, ok := u.at[u.endpoints[i].TargetRef.UID]; ok {
			rest = append(rest, u.endpoints[i])
		}
	}
	return rest
}
