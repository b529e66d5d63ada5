// Bug: a group starts although one that it needs has ended.
package manager

func (p phases) toStart(leads bool) (next groupName, found bool) {
	for group := range groupName(groupCount) {
		switch {
		case p[group] == idle:
			return group, group != elected || leads
		case p[group] < ready:
			return 0, false
		}
	}
	return 0, false
}
