package manager

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The files of this package, in an order in which you can read them: doc.go promises it.
var readingOrder = []string{
	"runnable.go", "options.go", "servers.go", "own_cluster.go", "group_order.go", "group.go", "group_choice.go",
	"groups.go", "election.go", "shards.go", "manager.go", "start.go",
}

// Methods aren't seen here, only what's declared at the top level.
func TestEachFileUsesOnlyThoseBeforeIt(t *testing.T) {
	entries, err := os.ReadDir(".")
	require.NoError(t, err)
	var all []string
	for _, entry := range entries {
		name := entry.Name()
		if strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") && name != "doc.go" {
			all = append(all, name)
		}
	}
	require.ElementsMatch(t, all, readingOrder, "a new file needs a place in the order, and in doc.go")

	fset, place := token.NewFileSet(), map[string]int{}
	var files []*ast.File
	for at, name := range readingOrder {
		place[name] = at
		file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		files = append(files, file)
	}
	// Without an importer, names of other packages mean nothing, which doesn't matter here.
	ignored := types.Config{Error: func(error) {}}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	pkg, _ := ignored.Check("manager", fset, files, info)
	seen := 0
	for used, object := range info.Uses {
		if object.Parent() != pkg.Scope() {
			continue
		}
		seen++
		in, declaredIn := fset.Position(used.Pos()).Filename, fset.Position(object.Pos()).Filename
		require.LessOrEqual(t, place[declaredIn], place[in], "%s uses %s, which %s declares", in, used, declaredIn)
	}
	require.Greater(t, seen, 100)
}
