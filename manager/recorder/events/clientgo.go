package events

import clientgo "k8s.io/client-go/tools/events"

// EventRecorder has one method, Eventf, which records an event about an object, regarding. related
// is a second object that takes part, such as the Pod that a ReplicaSet made; it may be nil.
// eventtype is Normal or Warning. reason says why, in one word in CamelCase, and action says what
// was done or tried. The note is for people; args are filled in as with fmt.Sprintf.
//
// It's client-go's own interface, because it's in signatures that a program's types have to match.
type EventRecorder = clientgo.EventRecorder

// AnnotatedEventRecorder has the method AnnotatedEventf: Eventf with annotations for the Event object.
// It's client-go's own, too.
type AnnotatedEventRecorder = clientgo.AnnotatedEventRecorder
