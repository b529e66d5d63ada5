package workqueue

// countTable is a map from items to numbers that gives memory back as it empties. After an
// outage in which a million objects failed, a Go map would keep room for a million until
// the process ends, even if only ten of them still fail. Copying those ten into a new map
// would block everybody for as long as the walk over the old one takes. The queue's table,
// which keeps the numbers here, shrinks by one bucket at a time.
type countTable[T comparable] struct {
	counts itemTable[T, countRecord[T], *countRecord[T]]
}

type countRecord[T comparable] struct {
	tableKey[T, countRecord[T]]
	number int
}

// get returns an item's number; known is false if there is none.
func (c *countTable[T]) get(item T) (number int, known bool) {
	if r := c.counts.find(item, hashOf(item)); r != nil {
		return r.number, true
	}
	return 0, false
}

func (c *countTable[T]) set(item T, number int) {
	c.counts.of(item, hashOf(item)).number = number
}

func (c *countTable[T]) remove(item T) {
	if r := c.counts.find(item, hashOf(item)); r != nil {
		c.counts.remove(r)
	}
}

func (c *countTable[T]) len() int { return c.counts.n }
