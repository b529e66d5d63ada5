// Bug: the warm-up is told when the controllers have ended.
package manager

func (p phases) toStop() (next groupName, found bool) {
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
