// Bug: it insists on a version that the server does not have.
package informer

func (m machine) cannotBeHad(f faultKind) bool {
	return false
}
