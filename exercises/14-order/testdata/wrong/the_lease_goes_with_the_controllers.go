// Bug: the lease is released while controllers end.
package manager

func (p phases) mayStop(group groupName) bool {
	if group == warmups || group == election {
		return p[elected] >= stopping
	}
	for after := group + 1; after < groupCount; after++ {
		if p[after] != ended {
			return false
		}
	}
	return true
}
