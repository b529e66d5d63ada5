// Bug: a group that is still starting is not told.
package manager

func (p phases) toStop() (next groupName, found bool) {
	for group := groupName(groupCount - 1); group >= 0; group-- {
		if p[group] != starting && p[group] < stopping && p.mayStop(group) {
			return group, true
		}
	}
	return 0, false
}
