// Bug: a group looks at the next one alone, and not at all after it.
package manager

func (p phases) mayStop(group groupName) bool {
	if group == warmups {
		return p[elected] >= stopping
	}
	return group+1 == groupCount || p[group+1] == ended
}
