// Bug: the groups end in the order in which they started.
package manager

func (p phases) toStop() (next groupName, found bool) {
	for group := range groupName(groupCount) {
		switch {
		case p[group] < stopping:
			return group, true
		case p[group] != ended:
			return 0, false
		}
	}
	return 0, false
}
