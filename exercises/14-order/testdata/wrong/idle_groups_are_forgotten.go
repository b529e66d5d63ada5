// Bug: groups that never started are not told, and the stop waits for them forever.
package manager

func (p phases) toStop() (next groupName, found bool) {
	for group := groupName(groupCount - 1); group >= 0; group-- {
		if p[group] != idle && p[group] < stopping && p.mayStop(group) {
			return group, true
		}
	}
	return 0, false
}
