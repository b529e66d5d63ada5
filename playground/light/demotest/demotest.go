// Package demotest takes the place of internal/demo/demotest, and of testing, in the tests of the
// chapters' programs. Such a test says what the program needs beside an API server, and what differs
// from run to run: here, it becomes a Program, which a page can play.
package demotest

import (
	"context"

	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/internal/fakeapi"
)

// Rule replaces what a regular expression finds, when output is compared.
type Rule struct{ Find, Put string }

// T gets the program of a test.
type T struct{ Program Program }

// Program is a chapter's program.
type Program struct {
	Options fakeapi.Options
	Prepare func(context.Context, *fakeapi.Server)
	Story   func(context.Context, *demo.Demo) error
	Rules   []Rule
}

// Helper does nothing.
func (*T) Helper() {}

// InMemory is a program that needs nothing but an API server.
func InMemory(t *T, story func(context.Context, *demo.Demo) error, rules ...Rule) {
	InMemoryWith(t, func(context.Context, *fakeapi.Server) {}, story, rules...)
}

// InMemoryWith is a program that needs what prepare does.
func InMemoryWith(
	t *T, prepare func(context.Context, *fakeapi.Server), story func(context.Context, *demo.Demo) error, rules ...Rule,
) {
	t.Program = Program{fakeapi.Options{FinalizeNamespaces: true}, prepare, story, rules}
}

// InMemoryWithoutNamespaceController is a program about the namespace controller.
func InMemoryWithoutNamespaceController(t *T, story func(context.Context, *demo.Demo) error, rules ...Rule) {
	t.Program = Program{fakeapi.Options{}, func(context.Context, *fakeapi.Server) {}, story, rules}
}
