package cache

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// presence is what is known about whether the server serves a kind.
//
// A list that is answered with 404 proves little: a proxy, or a server that has not yet learned of a new
// CustomResourceDefinition, answers so, too. Whoever takes that for the end of a kind reports the deletion of
// objects that are all there. So discovery is asked each time. It fails rather than leave something out, and a
// server that is starting answers it with 503. The kind is gone when goneAnswers such pairs in a row have said so, and
// gonePatience is over.
type presence struct {
	missingSince time.Time // the first 404 in a row with which discovery agreed
	answers      int       // such 404s
	gone         bool
}

const (
	gonePatience = 3 * time.Second
	goneAnswers  = 3
)

// answered404 is for a 404, and what discovery says about it.
func (p presence) answered404(now time.Time, says discovery) presence {
	switch says {
	case saysServed:
		return presence{}
	case saysNothing:
		return p // the server is in trouble: neither is a proof
	}
	if p.answers == 0 {
		p.missingSince = now
	}
	p.answers++
	p.gone = p.answers >= goneAnswers && now.Sub(p.missingSince) >= gonePatience
	return p
}

// discovery is what discovery says about a kind.
type discovery int

const (
	saysNothing discovery = iota // it does not answer
	saysServed
	saysMissing
	// saysMoved: the server has the kind under another resource name, or with another scope. For whoever
	// asks for the old one, it is missing.
	saysMoved
)

// KindGoneError is the answer to a read of a kind that the server served once and serves no more. It is a
// meta.IsNoMatchError and no NotFound error: that an object is not there is not what it says.
//
// The informer of such a kind sends no more lists and watches. Its handlers are told the end of what was
// left, and stay. It looks for the kind every five seconds, and goes on where it is served again: its handlers
// are told what is new, and reads are answered when that is in the store. So nobody has to ask for another
// informer, and IsStopped stays false. If the kind is back with another resource name or scope, the informer ends
// as after RemoveInformer: reads start another one, and sources ask for it.
//
// controller-runtime's informer asks for the kind forever, twice a minute or more, and reads answer
// with what there was last.
type KindGoneError struct {
	GVK schema.GroupVersionKind
}

func (e *KindGoneError) Error() string {
	return fmt.Sprintf("the API server does not serve %s any more: its CustomResourceDefinition was deleted, or has lost this version", e.GVK)
}

func (e *KindGoneError) Unwrap() error {
	return &meta.NoKindMatchError{GroupKind: e.GVK.GroupKind(), SearchedVersions: []string{e.GVK.Version}}
}
