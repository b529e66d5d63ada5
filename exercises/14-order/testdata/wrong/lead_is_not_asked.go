// Bug: what needs the lead starts in every replica.
package manager

func (p phases) toStart(leads bool) (next groupName, found bool) {
	for group := range groupName(groupCount) {
		switch {
		case p[group] == idle:
			return group, true
		case p[group] != ready:
			return 0, false
		}
	}
	return 0, false
}
