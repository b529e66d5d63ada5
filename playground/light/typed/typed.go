// Package typed takes the place of structured-merge-diff's: its names. See package fieldpath.
package typed

// TypedValue is none.
type TypedValue struct{}

// ValidationOptions are none.
type ValidationOptions int

// ParseableType is none.
type ParseableType struct{}

// Parser knows no types.
type Parser struct{}

// Type returns none.
func (*Parser) Type(string) ParseableType { return ParseableType{} }
