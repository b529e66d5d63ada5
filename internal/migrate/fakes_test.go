package migrate

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Old tests with the fake client pass as they are. By hand, it's a line in hundreds of tests.
func TestFakeClientsArePortedAsTheyWere(t *testing.T) {
	for name, c := range map[string]struct{ as, before, after string }{
		"alone":             {"", "var c = fake.NewClientBuilder().Build()", "var c = fake.NewClientBuilder().LikeControllerRuntime().Build()"},
		"a name of its own": {"crfake ", "var b = crfake.NewClientBuilder()", "var b = crfake.NewClientBuilder().LikeControllerRuntime()"},
		"over several lines": {"", "var c = fake.NewClientBuilder().\n\tWithScheme(scheme). // ours\n\tWithObjects(a,\n\t\tb).\n\tBuild()",
			"var c = fake.NewClientBuilder().LikeControllerRuntime().\n\tWithScheme(scheme). // ours\n\tWithObjects(a,\n\t\tb).\n\tBuild()"},
		"the short way":           {"", "var c = fake.NewFakeClient()", "var c = fake.NewClientBuilder().LikeControllerRuntime().WithRuntimeObjects().Build()"},
		"the short way, objects":  {"f ", "var c = f.NewFakeClient(objs...)", "var c = f.NewClientBuilder().LikeControllerRuntime().WithRuntimeObjects(objs...).Build()"},
		"one in another":          {"", "var c = fake.NewFakeClient(from(fake.NewClientBuilder()))", "var c = fake.NewClientBuilder().LikeControllerRuntime().WithRuntimeObjects(from(fake.NewClientBuilder().LikeControllerRuntime())).Build()"},
		"in parentheses":          {"", "var c = (fake.NewClientBuilder)()", "var c = (fake.NewClientBuilder)().LikeControllerRuntime()"},
		"a variable of this name": {"", "var _ fake.ClientBuilder\n\nfunc f(fake local) { fake.NewClientBuilder() }", "var _ fake.ClientBuilder\n\nfunc f(fake local) { fake.NewClientBuilder() }"},
		"no call":                 {"", "var build = fake.NewClientBuilder", "var build = fake.NewClientBuilder"},
	} {
		t.Run(name, func(t *testing.T) {
			file := func(path, content string) string {
				return "package a\n\nimport " + c.as + `"` + path + `"` + "\n\n" + content + "\n"
			}
			got, err := File("a_test.go", []byte(file("sigs.k8s.io/controller-runtime/pkg/client/fake", c.before)))
			require.NoError(t, err)
			require.Equal(t, file("github.com/loopwright/loopwright/manager/client/fake", c.after), string(got))
		})
	}
}
