// Package users holds controllers as users write them for controller-runtime. They compile, as
// part of this module, as they are. A test of cmd/apidiff replaces their import paths, and nothing
// else, and compiles them against this library.
//
// They are a sample: each directory is one
// program, and together they show what programs commonly do. They call functions with and without
// explicit type arguments, spread slices of predicates, write options of their own, and implement the
// interfaces with their own types.
package users
