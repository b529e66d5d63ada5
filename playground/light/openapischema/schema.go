// Package openapischema takes the place of kube-openapi's util/proto, which links protobuf. A strategic
// patch gets from it the names of a schema; in a page, it takes Go types instead.
package openapischema

// Schema is a node of a schema.
type Schema interface {
	Accept(SchemaVisitor)
	GetPath() *Path
	GetName() string
	GetExtensions() map[string]any
}

// SchemaVisitor is shown the kinds of nodes.
type SchemaVisitor interface {
	VisitPrimitive(*Primitive)
	VisitArray(*Array)
	VisitMap(*Map)
	VisitReference(Reference)
	VisitKind(*Kind)
}

// Path is where a node is.
type Path struct{}

func (*Path) String() string { return "" }

// Primitive is a number or a string.
type Primitive struct{}

// Array has one kind of items.
type Array struct{ SubType Schema }

// Map has one kind of values.
type Map struct{ SubType Schema }

// Kind has fields.
type Kind struct{ Fields map[string]Schema }

// GetPath returns nothing.
func (*Kind) GetPath() *Path { return nil }

// Reference is another node.
type Reference interface {
	Schema
	SubSchema() Schema
}
