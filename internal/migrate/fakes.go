package migrate

import "go/ast"

const theirFakes = "sigs.k8s.io/controller-runtime/pkg/client/fake"

// keepFake notes the edits that make a fake client behave as theirs does. Ours does as a cluster does otherwise, and a
// test that isn't about the cluster would fail.
func (f *file) keepFake(call *ast.CallExpr) {
	function := ast.Unparen(call.Fun)
	i := f.importOf(function)
	if i == nil || i.from.Theirs != theirFakes {
		return
	}
	name, end := function.(*ast.SelectorExpr).Sel, f.offset(call.End())
	switch name.Name {
	case "NewClientBuilder":
		i.edits = append(i.edits, edit{end, end, ".LikeControllerRuntime()"})
	case "NewFakeClient":
		i.edits = append(i.edits,
			edit{f.offset(name.Pos()), f.offset(name.End()), "NewClientBuilder().LikeControllerRuntime().WithRuntimeObjects"},
			edit{end, end, ".Build()"})
	}
}
