// Bug: a group that is ending is told again and again.
package manager

func (p phases) toStop() (next groupName, found bool) {
	for group := groupName(groupCount - 1); group >= 0; group-- {
		if p[group] < ended && p.mayStop(group) {
			return group, true
		}
	}
	return 0, false
}
