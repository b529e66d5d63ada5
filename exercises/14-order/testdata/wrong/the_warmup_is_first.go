// Bug: the warm-up is told before the controllers.
package manager

func (p phases) toStop() (next groupName, found bool) {
	if p[warmups] < stopping {
		return warmups, true
	}
	for group := groupName(groupCount - 1); group >= 0; group-- {
		switch {
		case p[group] < stopping:
			return group, true
		case p[group] != ended:
			return 0, false
		}
	}
	return 0, false
}
