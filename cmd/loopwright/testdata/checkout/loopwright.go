// Package loopwright is what the drop-in of the tests stands on.
package loopwright

func Name() string { return "Loopwright" }
