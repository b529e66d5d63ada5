// Bug: a leader starts its controllers before the replica is ready.
package manager

func (p phases) toStart(leads bool) (next groupName, found bool) {
	if leads && p[elected] == idle && p[warmups] != idle {
		return elected, true
	}
	for group := range groupName(groupCount) {
		switch {
		case p[group] == idle:
			return group, group != elected || leads
		case p[group] != ready:
			return 0, false
		}
	}
	return 0, false
}
