// Package reconcile has what non-Typed names put in the place of a request.
package reconcile

type Request struct{ Name string }
