// Bug: the last group is left out.
package manager

func (p phases) toStart(leads bool) (next groupName, found bool) {
	for group := range elected {
		switch {
		case p[group] == idle:
			return group, true
		case p[group] != ready:
			return 0, false
		}
	}
	return 0, false
}
