// Bug: only the very version that was written ends the wait.
package informer

import "k8s.io/apimachinery/pkg/util/resourceversion"

func (w *versionWait) isMet(version string) bool {
	order, err := resourceversion.CompareResourceVersion(version, w.version)
	return err == nil && order == 0
}
