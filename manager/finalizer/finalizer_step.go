package finalizer

import (
	"fmt"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/controller/controllerutil"
)

// pass is the way of one object through all registered finalizers. It decides what to add, what to
// run and what to remove, and calls nothing itself:
//
//	next   adds what is missing, and returns a cleanup that is due
//	ended  takes the answer of that cleanup
//	outcome is what the caller hears in the end
type pass struct {
	left     []string // the registered names that have not been looked at yet, in order
	result   Result
	failures []error
}

func newPass(registered []string) *pass { return &pass{left: registered} }

// next looks at one name after the other until a cleanup is due, and returns its name. It returns
// false after the last one. A name is looked at once, and when it is its turn: a cleanup may have
// changed the object.
//
// An object that nobody deletes gets the finalizer, if it lacks it. One that is being deleted gets
// no finalizer: the server would refuse it.
func (p *pass) next(obj client.Object) (name string, due bool) {
	for len(p.left) > 0 {
		name, p.left = p.left[0], p.left[1:]
		switch {
		case !obj.GetDeletionTimestamp().IsZero():
			if controllerutil.ContainsFinalizer(obj, name) {
				return name, true
			}
		case controllerutil.AddFinalizer(obj, name):
			p.result.Updated = true
		}
	}
	return "", false
}

// ended removes the finalizer if its cleanup has succeeded: not sooner, because nobody looks at the
// object again when its last finalizer is gone. What a failed cleanup has changed counts, too. It may
// have said in the status why it failed.
func (p *pass) ended(obj client.Object, name string, result Result, err error) {
	p.result.Updated = p.result.Updated || result.Updated
	p.result.StatusUpdated = p.result.StatusUpdated || result.StatusUpdated
	if err != nil {
		p.failures = append(p.failures, fmt.Errorf("the cleanup of the finalizer %q: %w", name, err))
		return
	}
	controllerutil.RemoveFinalizer(obj, name)
	p.result.Updated = true
}

// outcome returns what was changed, and what has failed.
func (p *pass) outcome() (Result, error) { return p.result, failed(p.failures) }
