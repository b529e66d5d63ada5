// Package spec takes the place of kube-openapi's validation/spec in a strategic patch, which in
// a page takes Go types instead.
package spec

// Schema is a node of a schema.
type Schema struct {
	Properties map[string]Schema
	AllOf      []Schema
	Ref        Ref
	Extensions map[string]any
	Items      *Items
	Type       []string
}

// Items are those of an array.
type Items struct{ Schema *Schema }

// Ref is the name of another node.
type Ref struct{}

func (*Ref) String() string { return "" }
