// Package client has what non-Typed names put in the place of an object.
package client

type Object interface{ GetName() string }
