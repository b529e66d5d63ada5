// Bug: a finalizer whose name begins like it is removed, too.
package finalizer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loopwright/loopwright/manager/client"
)

func (p *pass) ended(obj client.Object, name string, result Result, err error) {
	p.result.Updated = p.result.Updated || result.Updated
	p.result.StatusUpdated = p.result.StatusUpdated || result.StatusUpdated
	if err != nil {
		p.failures = append(p.failures, fmt.Errorf("the cleanup of the finalizer %q: %w", name, err))
		return
	}
	obj.SetFinalizers(slices.DeleteFunc(slices.Clone(obj.GetFinalizers()), func(has string) bool { return strings.HasPrefix(has, name) }))
	p.result.Updated = true
}
