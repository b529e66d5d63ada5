// Bug: the last finalizer takes the place of the one that is removed.
package finalizer

import (
	"fmt"
	"slices"

	"github.com/loopwright/loopwright/manager/client"
)

func (p *pass) ended(obj client.Object, name string, result Result, err error) {
	p.result.Updated = p.result.Updated || result.Updated
	p.result.StatusUpdated = p.result.StatusUpdated || result.StatusUpdated
	if err != nil {
		p.failures = append(p.failures, fmt.Errorf("the cleanup of the finalizer %q: %w", name, err))
		return
	}
	list := slices.Clone(obj.GetFinalizers())
	for at := slices.Index(list, name); at >= 0; at = slices.Index(list, name) {
		list[at] = list[len(list)-1]
		list = list[:len(list)-1]
	}
	obj.SetFinalizers(list)
	p.result.Updated = true
}
