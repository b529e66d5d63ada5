package record

import clientgo "k8s.io/client-go/tools/record"

// EventRecorder records an event about an object: Event with a message for people, Eventf with one
// that is formatted as with fmt.Sprintf, and AnnotatedEventf with annotations for the Event object.
// eventtype is Normal or Warning; reason says why, in one word in CamelCase.
//
// It's client-go's own interface, because it's in signatures that a program's types have to match.
type EventRecorder = clientgo.EventRecorder
