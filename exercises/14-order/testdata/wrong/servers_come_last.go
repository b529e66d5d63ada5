// Bug: the groups start from the last to the first.
package manager

func (p phases) toStart(leads bool) (next groupName, found bool) {
	for group := groupName(groupCount - 1); group >= 0; group-- {
		switch {
		case group == elected && !leads:
		case p[group] == idle:
			return group, true
		case p[group] != ready:
			return 0, false
		}
	}
	return 0, false
}
