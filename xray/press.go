package xray

// Press does what a button of the page does, for a page that has no server between itself and the
// program: "hold watch", "release watch", "drop watch", "expire watch", "lose an answer", "cut the
// lease", "restore the lease", "hold workers", "release workers", "one step". For a button about a
// watch, resource is the watch's, such as "pods"; for the others it's empty.
//
// Errors: there's no such button, or nothing watches the resource.
func (s *Steps) Press(do, resource string) error {
	return s.press(press{Do: do, Resource: resource})
}

// Watched returns the resources that the program watches, and those of them that are held.
func (s *Steps) Watched() (resources, held []string) {
	state, _ := s.state()
	return state.Watched, state.Held
}
