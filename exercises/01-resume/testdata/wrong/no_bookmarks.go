// Bug: the watch does not ask for bookmarks.
package informer

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

func (c Cursor) WatchOptions() metav1.ListOptions {
	return metav1.ListOptions{ResourceVersion: c.resourceVersion}
}
