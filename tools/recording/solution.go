package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
)

// withFunctionsOf replaces functions of a file by those that another one has: a wrong solution holds only what differs.
func withFunctionsOf(file, others []byte) ([]byte, error) {
	theirs, err := functions(others)
	if err != nil {
		return nil, err
	}
	ours, err := functions(file)
	if err != nil {
		return nil, err
	}
	for name, text := range theirs {
		if ours[name] == nil {
			return nil, fmt.Errorf("the solution has no function %s", name)
		}
		file = bytes.Replace(file, ours[name], text, 1)
	}
	return file, nil
}

// functions are the methods and functions of a file, from func to the closing brace.
func functions(source []byte) (map[string][]byte, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", source, parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("reading a solution: %w", err)
	}
	found := map[string][]byte{}
	for _, decl := range f.Decls {
		if d, ok := decl.(*ast.FuncDecl); ok {
			found[d.Name.Name] = source[fset.Position(d.Pos()).Offset:fset.Position(d.End()).Offset]
		}
	}
	return found, nil
}
