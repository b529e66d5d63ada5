package workqueue

// heapSlots is the memory of a heap: a list that grows and shrinks at its end. A slice that
// is full moves to a larger one, and with a million alarms everybody waits for that. Here
// the slots lie in segments, as the buckets of the queue's table do, and nothing moves.
//
// The first slots of the first segment are not used. So the children of a slot, which are
// compared with each other, never lie in two segments, and mostly in one cache line.
type heapSlots[T comparable] struct {
	segments []*[segment]heapItem[T]
	n        int // the number of slots in use
}

const unusedSlots = children - 1

// at returns the slot with an index. It must be in use.
func (s *heapSlots[T]) at(index int) *heapItem[T] {
	index += unusedSlots
	return &s.segments[index/segment][index%segment]
}

// upTo returns the slots from an index on that are in use, at most so many. They must lie
// in one segment.
func (s *heapSlots[T]) upTo(index, most int) []heapItem[T] {
	if most = min(most, s.n-index); most <= 0 {
		return nil
	}
	index += unusedSlots
	return s.segments[index/segment][index%segment:][:most]
}

func (s *heapSlots[T]) push(item heapItem[T]) {
	if s.n+unusedSlots == len(s.segments)*segment || len(s.segments) == 0 {
		s.segments = append(s.segments, new([segment]heapItem[T]))
	}
	s.n++
	*s.at(s.n - 1) = item
}

// pop removes the last slot. It keeps one segment that is empty, or what keepAtMost alarms
// need: what comes and goes at a constant rate allocates nothing.
func (s *heapSlots[T]) pop() heapItem[T] {
	last := s.at(s.n - 1)
	item := *last
	*last = heapItem[T]{}
	s.n--
	if used := max((s.n+unusedSlots)/segment+2, keepAtMost/segment); used < len(s.segments) {
		s.segments[used] = nil
		s.segments = s.segments[:used]
	}
	return item
}
