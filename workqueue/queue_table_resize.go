package workqueue

// A table that doubles stops everybody while it moves a million records. This one grows
// by one bucket with each record, and its buckets lie in segments, so that no add has to
// move a million records, nor a million pointers to them. It shrinks in the same way.
//
// Source: W. Litwin, Linear hashing: a new tool for file and table addressing, 1980.

// keepAtMost is the number of items for which an empty queue keeps memory.
const keepAtMost = 1 << 15

// grow makes one more bucket if there are more records than buckets. All records that
// belong there are in a single other bucket, whose number lacks the highest bit.
func (t *itemTable[T, E, P]) grow() {
	if t.n <= t.buckets {
		return
	}
	fresh := uint64(t.buckets)
	if fresh%segment == 0 {
		t.segments = append(t.segments, new([segment]*tableKey[T, E]))
	}
	t.buckets++
	if fresh == 0 {
		return
	}
	if fresh > t.mask {
		t.mask = t.mask<<1 | 1
	}
	from, to := t.at(fresh&(t.mask>>1)), t.at(fresh)
	for *from != nil {
		if k := *from; k.hash&t.mask == fresh {
			*from, k.nextInBucket, *to = k.nextInBucket, *to, k
		} else {
			from = &k.nextInBucket
		}
	}
}

// shrink removes the last buckets after a peak, and moves their records back to where
// they came from. It keeps as many buckets as keepAtMost records need.
func (t *itemTable[T, E, P]) shrink() {
	for t.buckets > keepAtMost && t.buckets > 2*t.n {
		t.buckets--
		last := uint64(t.buckets)
		end := t.at(last & (t.mask >> 1))
		for *end != nil {
			end = &(*end).nextInBucket
		}
		from := t.at(last)
		*end, *from = *from, nil
		if last == t.mask>>1+1 {
			t.mask >>= 1
		}
		if last%segment == 0 {
			t.segments[last/segment] = nil
			t.segments = t.segments[:last/segment]
		}
	}
}
