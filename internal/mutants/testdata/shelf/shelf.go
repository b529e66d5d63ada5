// Package shelf is under test in the tests of internal/mutants. Its own tests notice
// some mistakes and miss others, on purpose.
package shelf

const keep = 2

// Shelf keeps a few things to use again.
type Shelf struct {
	spare []string
	puts  int
}

// Put is tested with a shelf that is empty, and never with a full one.
func (s *Shelf) Put(thing string) {
	s.puts++
	if len(s.spare) < keep {
		s.spare = append(s.spare, thing)
	}
}

// Last is tested by its result alone.
func (s *Shelf) Last() string {
	last := s.spare[len(s.spare)-1]
	s.spare = s.spare[:len(s.spare)-1]
	return last
}

// Count never ends if i does not grow.
func (s *Shelf) Count() int {
	i := 0
	for i < len(s.spare) {
		i++
	}
	return i
}

// Clear is tested by nothing.
func (s *Shelf) Clear() {
	s.spare = nil
}
