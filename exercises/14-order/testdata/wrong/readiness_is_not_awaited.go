// Bug: a group starts when those before it have started, and not when they are ready.
package manager

func (p phases) toStart(leads bool) (next groupName, found bool) {
	for group := range groupName(groupCount) {
		if p[group] == idle {
			return group, group != elected || leads
		}
	}
	return 0, false
}
