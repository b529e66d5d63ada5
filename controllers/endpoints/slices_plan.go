package endpoints

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Endpoints have one canonical form. With slices this would be wrong: if all slices were full and
// sorted, the end of the first Pod would move one endpoint from each slice to the one before, and
// the controller would have to write all of them. So the plan starts from the existing slices: an
// endpoint stays in its slice, and a new one goes where there is room. Any distribution of the
// endpoints is right.

// plan has the slices to create, to update and to delete.
type plan struct {
	create, update, remove []*discoveryv1.EndpointSlice
}

// draft is a slice as it should be.
type draft struct {
	was       *discoveryv1.EndpointSlice // the existing slice; nil for a new one
	addresses discoveryv1.AddressType
	ports     []corev1.EndpointPort
	endpoints []discoveryv1.Endpoint
	changed   bool // it differs from was
}

// planOf plans how the existing slices become what is wanted, with at most most endpoints in each.
//
// It plans each address type separately. It reuses a slice that is no longer needed for a new one:
// one update instead of a create and a delete. A Service without endpoints has one empty slice, so
// that a client can tell "no endpoints" from "not known yet".
func planOf(want wanted, have []*discoveryv1.EndpointSlice, most int) (p plan) {
	have = slices.SortedFunc(slices.Values(have), func(a, b *discoveryv1.EndpointSlice) int {
		return cmp.Compare(a.Name, b.Name)
	})
	own := map[discoveryv1.AddressType][]*discoveryv1.EndpointSlice{}
	for _, slice := range have {
		switch {
		case slice.DeletionTimestamp != nil: // it's about to go
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

// draftsOf distributes the endpoints of one address type. spare are the slices that it doesn't
// need.
func draftsOf(
	want wanted, addresses discoveryv1.AddressType, have []*discoveryv1.EndpointSlice, most int,
) (drafts []*draft, spare []*discoveryv1.EndpointSlice) {
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

// fill distributes the endpoints of a group. An endpoint stays in its slice, if there's room. New
// endpoints go into slices that change anyway, the fullest first; then into the fullest slice with
// room for all of the rest; otherwise into new slices. empty are the slices that lost all their
// endpoints.
func fill(
	want wanted, g group, have []*discoveryv1.EndpointSlice, most int,
) (filled []*draft, empty []*discoveryv1.EndpointSlice) {
	left := newUnplaced(g.endpoints)
	for _, slice := range have {
		d := &draft{
			was: slice, addresses: g.addresses, ports: g.ports, changed: !want.isMarked(slice),
		}
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
	slices.SortStableFunc(byFullness, func(a, b *draft) int {
		return len(b.endpoints) - len(a.endpoints)
	})
	for _, d := range byFullness {
		if d.changed {
			rest = d.add(rest, most)
		}
	}
	for len(rest) > 0 {
		d := &draft{addresses: g.addresses, ports: g.ports}
		if i := slices.IndexFunc(byFullness, func(d *draft) bool {
			return !d.changed && len(d.endpoints)+len(rest) <= most
		}); i >= 0 {
			d = byFullness[i]
		} else {
			filled = append(filled, d)
		}
		rest = d.add(rest, most)
	}
	return filled, empty
}

// add moves endpoints into a draft while there's room, and returns the others.
func (d *draft) add(endpoints []discoveryv1.Endpoint, most int) []discoveryv1.Endpoint {
	n := min(len(endpoints), most-len(d.endpoints))
	d.endpoints = append(d.endpoints, endpoints[:n]...)
	d.changed = d.changed || n > 0
	return endpoints[n:]
}

// reuse assigns spare slices to drafts without one, and returns the others. It prefers a slice that
// has the draft's content already, such as an empty one.
func reuse(
	want wanted, drafts []*draft, spare []*discoveryv1.EndpointSlice,
) []*discoveryv1.EndpointSlice {
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
	at        map[types.UID]int // UID of the Pod -> index in endpoints
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

// all returns the endpoints that weren't taken, in their order.
func (u unplaced) all() (rest []discoveryv1.Endpoint) {
	for i := range u.endpoints {
		if _, ok := u.at[u.endpoints[i].TargetRef.UID]; ok {
			rest = append(rest, u.endpoints[i])
		}
	}
	return rest
}
