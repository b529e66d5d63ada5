// Bug: the watch starts at resourceVersion 0, and so repeats what the list has shown.
package informer

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

func (c Cursor) WatchOptions() metav1.ListOptions {
	return metav1.ListOptions{ResourceVersion: "0", AllowWatchBookmarks: true}
}
