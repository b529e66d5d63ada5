package handler

import (
	"maps"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/workqueue"
)

// phrases are the reasons that one sort of handler gives, such as "update of Pod *, through its
// owner", without the object's name. There are a few for each kind of object, and they are made
// once. The name comes in when somebody reads the reason. So an event in a storm pays for looking
// a phrase up, and for no text.
type phrases struct {
	through string                             // the end of each of them
	mu      sync.Mutex                         // is held to replace what the other two point to, which is never changed
	byKind  atomic.Pointer[map[string]*ofKind] // all of them
	byType  atomic.Pointer[[]ofType]           // those of the first few Go types, which are found much faster
}

// ofKind are the phrases for one kind.
type ofKind [whats]string

type ofType struct {
	objects reflect.Type
	*ofKind
}

// fewTypes are so many that looking through them costs less than the map.
const fewTypes = 8

// opts is how requests are added because of an occurrence. Without an object, nobody knows whether
// something has changed: then the priority is not low.
func (p *phrases) opts(o occurrence) workqueue.AddOpts {
	if o.object == nil {
		return workqueue.AddOpts{Reason: whatNames[o.what] + p.through}
	}
	return workqueue.AddOpts{
		Priority: o.priority(),
		Reason:   p.of(o.object)[o.what],
		About:    workqueue.Subject{Namespace: o.object.GetNamespace(), Name: o.object.GetName()},
	}
}

func (p *phrases) of(obj client.Object) *ofKind {
	objects := reflect.TypeOf(obj)
	if few := p.byType.Load(); few != nil {
		for i := range *few {
			if (*few)[i].objects == objects {
				return (*few)[i].ofKind
			}
		}
	}
	kind := event.KindOf(obj)
	if known := p.byKind.Load(); known != nil {
		if found := (*known)[kind]; found != nil {
			return found
		}
	}
	return p.make(obj, kind)
}

func (p *phrases) make(obj client.Object, kind string) *ofKind {
	var made ofKind
	for what, name := range whatNames {
		made[what] = name + " of "
		if kind != "" {
			made[what] += kind + " "
		}
		made[what] += "*" + p.through
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	next := map[string]*ofKind{}
	if known := p.byKind.Load(); known != nil {
		next = maps.Clone(*known)
	}
	next[kind] = &made
	p.byKind.Store(&next)
	p.addTypeLocked(obj, &made)
	return &made
}

func (p *phrases) addTypeLocked(obj client.Object, made *ofKind) {
	switch obj.(type) {
	case *unstructured.Unstructured, *metav1.PartialObjectMetadata:
		return // one Go type for many kinds
	}
	var few []ofType
	if known := p.byType.Load(); known != nil {
		few = slices.Clone(*known)
	}
	objects := reflect.TypeOf(obj)
	if len(few) < fewTypes && !slices.ContainsFunc(few, func(of ofType) bool { return of.objects == objects }) {
		few = append(few, ofType{objects, made})
		p.byType.Store(&few)
	}
}
