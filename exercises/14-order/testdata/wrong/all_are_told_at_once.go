// Bug: nobody waits until those who need a group have ended.
package manager

func (p phases) toStop() (next groupName, found bool) {
	for group := groupName(groupCount - 1); group >= 0; group-- {
		if p[group] < stopping {
			return group, true
		}
	}
	return 0, false
}
