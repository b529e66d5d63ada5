// Bug: versions are compared as text.
package informer

func (w *versionWait) isMet(version string) bool {
	return version >= w.version
}
