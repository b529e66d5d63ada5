package scaffold

import (
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/migrate"
)

// shop is what the README's command says.
func shop(dir string) Options {
	return Options{Dir: dir, Module: "example.com/shop", Kind: "Shop", Version: "v1.2.3"}
}

// written are the files of a new project, by their paths.
func written(t *testing.T, options Options) map[string]string {
	t.Helper()
	require.NoError(t, New(options, io.Discard))
	return filesOf(t, options.Dir)
}

func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		files[name] = string(text)
		return err
	}))
	return files
}

// A kind whose name is a word of Go, or of the templates, would be a project that does not compile.
func TestWhateverTheNamesTheProjectIsGo(t *testing.T) {
	for _, kind := range []string{"Shop", "Type", "Error", "Client", "Linux", "HTTPRoute", "Test", "Webhook", "Kind"} {
		options := shop(filepath.Join(t.TempDir(), "a b"))
		options.Kind, options.Webhooks = kind, true
		for name, text := range written(t, options) {
			if filepath.Ext(name) != ".go" {
				continue
			}
			_, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
			assert.NoError(t, err, "kind %s", kind)
		}
		assert.FileExists(t, filepath.Join(options.Dir, "internal/webhook", strings.ToLower(kind)+"_webhook.go"))
	}
}

func TestAWrongOptionIsRefusedWithWhatToDoAndNothingIsWritten(t *testing.T) {
	for _, try := range []struct {
		wrong func(*Options)
		says  string
	}{
		{func(o *Options) { o.Module = "" }, "such as example.com/shop"},
		{func(o *Options) { o.Module = "shop" }, "such as example.com/shop"},
		{func(o *Options) { o.Module = "example.com/a shop" }, "is not a module path"},
		{func(o *Options) { o.Module = "github.com/loopwright/loopwright" }, "is the library itself"},
		{func(o *Options) { o.Module = "github.com/acme/shop" }, "--group shop.example.com"},
		{func(o *Options) { o.Group = "shop" }, "it is a domain"},
		{func(o *Options) { o.Group = "Shop.example.com" }, "in lower case"},
		{func(o *Options) { o.Group = "shop.k8s.io" }, "reserved for Kubernetes"},
		{func(o *Options) { o.Kind = "" }, "is not the name of a kind"},
		{func(o *Options) { o.Kind = "shop" }, "begins with a capital letter"},
		{func(o *Options) { o.Kind = "Web-Shop" }, "letters and digits"},
		{func(o *Options) { o.Kind = strings.Repeat("S", 41) }, "too long"},
		{func(o *Options) { o.Kind = "ShopList" }, "the Go type of a list"},
		{func(o *Options) { o.Kind = "ShopSpec" }, "a spec or a status"},
		{func(o *Options) { o.Module = "example.com/kube" }, "kube-system is taken"},
		{func(o *Options) { o.Module, o.Group = "example.com/3d", "3d.example.com" }, "begin with a letter"},
		{func(o *Options) { o.Replace = "/nowhere" }, "is not a checkout"},
		{func(o *Options) { o.Replace, o.Version = "", "v9" }, "is not a version"},
		{func(o *Options) { o.Kind = "GroupVersion" }, "take another name"},
		{func(o *Options) { o.Version = "" }, "--replace"},
		{func(o *Options) { o.Version = "latest" }, "versions look like v1.2.3"},
	} {
		options := shop(filepath.Join(t.TempDir(), "shop"))
		try.wrong(&options)
		assert.ErrorContains(t, New(options, io.Discard), try.says)
		assert.NoDirExists(t, options.Dir, try.says)
	}
}

func TestAFolderWithAnythingInItIsLeftAsItIs(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "notes"), []byte("precious"), 0o600))
	assert.ErrorContains(t, New(shop(dir), io.Discard), "is not empty")
	assert.Equal(t, map[string]string{"notes": "precious"}, filesOf(t, dir))
	assert.Error(t, New(shop(filepath.Join(dir, "notes")), io.Discard), "it is a file")
}

func TestTheGroupIsMadeOfTheModulePath(t *testing.T) {
	for path, want := range map[string]string{
		"example.com/shop": "shop.example.com", "example.com/team/Web_Shop": "web-shop.example.com",
		"example.com/shop/v2": "shop.example.com", "example.com": "example-com.example.com",
	} {
		got, err := groupOf(path)
		require.NoError(t, err)
		assert.Equal(t, want, got, path)
	}
}

// A team has the project and the checkout on several machines.
func TestTheCheckoutIsNamedByAPathThatStaysRight(t *testing.T) {
	work := t.TempDir()
	checkout := filepath.Join(work, "loopwright")
	require.NoError(t, os.MkdirAll(filepath.Join(work, "elsewhere", "deep"), 0o777))
	require.NoError(t, os.Symlink(filepath.Join("elsewhere", "deep"), filepath.Join(work, "link")))
	for dir, want := range map[string]string{
		filepath.Join(work, "shop"):           "../loopwright",
		filepath.Join(work, "team", "shop"):   "../../loopwright",
		filepath.Join(checkout, "my", "shop"): "../..",
		filepath.Join(work, "link", "shop"):   checkout, // go -C takes .. for elsewhere, and the shell does not
		filepath.FromSlash("/nowhere/shop"):   checkout,
	} {
		got, err := replacement(dir, checkout)
		require.NoError(t, err)
		assert.Equal(t, want, got, dir)
	}
	got, err := replacement(filepath.Join(work, "shop"), filepath.Join(work, "a checkout"))
	require.NoError(t, err)
	assert.Equal(t, `"../a checkout"`, got)
}

// A workflow that takes the newest commit of another repository fails some morning, and nobody has changed anything.
func TestCITakesTheCommitOfTheCheckout(t *testing.T) {
	for _, name := range []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"} { // a hook of git has them
		t.Setenv(name, "")
		require.NoError(t, os.Unsetenv(name))
	}
	git := func(dir string, words ...string) string {
		said, err := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.com"}, words...)...).CombinedOutput()
		require.NoError(t, err, "%s", said)
		return strings.TrimSpace(string(said))
	}
	work := t.TempDir()
	outer := filepath.Join(work, "outer")
	inner := filepath.Join(outer, "unpacked") // from an archive, into a repository of something else
	plain := filepath.Join(work, "plain")
	for _, dir := range []string{outer, inner, plain} {
		require.NoError(t, writeFile(filepath.Join(dir, "go.mod"), []byte("module "+ours+"\n")))
	}
	git(work, "init", "--quiet", outer)
	git(outer, "add", "go.mod", "unpacked/go.mod")
	git(outer, "commit", "--quiet", "--message", "a")
	const workflow = ".github/workflows/ci.yml"
	for checkout, want := range map[string]string{
		outer: "checkout --detach " + git(outer, "rev-parse", "HEAD") + "\n", inner: "checkout --detach HEAD\n", plain: "checkout --detach HEAD\n",
	} {
		options := shop(filepath.Join(t.TempDir(), "shop"))
		options.Version, options.Replace = "", checkout
		text := written(t, options)[workflow]
		assert.Contains(t, text, want, checkout)
		assert.Equal(t, checkout != outer, strings.Contains(text, "Replace HEAD with the commit"), text)
	}
	assert.NotContains(t, written(t, shop(filepath.Join(t.TempDir(), "shop")))[workflow], "git clone", "a release is in go.mod")
}

// The name is in the marker of the type, in the rights and in the name of the CRD's file.
func TestThePluralIsThatOfEnglish(t *testing.T) {
	for word, want := range map[string]string{
		"shop": "shops", "class": "classes", "box": "boxes", "branch": "branches", "policy": "policies", "gateway": "gateways",
	} {
		assert.Equal(t, want, plural(word))
	}
}

// Users who go back to controller-runtime, or come from it, find the same program.
func TestTheProjectForControllerRuntimeIsTheSameWithOtherImportPaths(t *testing.T) {
	own, other := shop(filepath.Join(t.TempDir(), "shop")), shop(filepath.Join(t.TempDir(), "shop"))
	own.Webhooks, other.Webhooks, other.ControllerRuntime = true, true, true
	want, got := written(t, own), written(t, other)
	plan, err := migrate.Make(migrate.Options{Dir: other.Dir, Version: "v1.2.3"})
	require.NoError(t, err)
	assert.Empty(t, plan.Problems)
	for _, change := range plan.Changes {
		got[change.Name] = string(change.After)
	}
	for name := range want {
		if filepath.Ext(name) == ".go" {
			assert.Equal(t, withoutXRay(want[name]), got[name], name)
			assert.NotContains(t, want[name], "sigs.k8s.io/controller-runtime")
		}
	}
	assert.Equal(t, slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got)))
}

// saysWhereXRayIs is a whole statement; the rest about X-ray are single lines.
var saysWhereXRayIs = regexp.MustCompile(`(?m)^\tif settings\.DebugAddress != "0" \{\n.*X-ray.*\n\t\}\n`)

// withoutXRay leaves out the lines that controller-runtime has nothing for.
func withoutXRay(text string) string {
	text = saysWhereXRayIs.ReplaceAllString(text, "")
	var left strings.Builder
	for line := range strings.Lines(text) {
		if !strings.Contains(line, "X-ray") && !strings.Contains(line, ours+"/trace") {
			left.WriteString(line)
		}
	}
	return left.String()
}

// Whoever has written the first controller wants to see it run, and nobody else on the network may.
func TestANewProjectHasXRayOnThisMachineUnderMakeRun(t *testing.T) {
	files := written(t, shop(t.TempDir()))
	const address = "127.0.0.1:8082"
	assert.Contains(t, files["config/local.yaml"], "\ndebugAddress: "+address+"\n")
	assert.NotContains(t, files["config/manager/settings.yaml"], "debugAddress", "in a cluster it is off")
	assert.Contains(t, files["internal/app/app.go"], "PprofBindAddress:              s.DebugAddress")
	assert.Contains(t, files["internal/app/app.go"], "trace.New(0)")
	assert.Regexp(t, saysWhereXRayIs, files["internal/dev/main.go"], "and it says nothing of a page that's switched off")
	assert.Contains(t, files["README.md"], "http://"+address+"/debug/xray/ shows what the controllers do")

	options := shop(t.TempDir())
	options.ControllerRuntime = true
	assert.NotContains(t, written(t, options)["README.md"], "X-ray", "controller-runtime has none")
}

func TestAnotherKindGetsItsFilesAndALineInEachListThatNobodyChanged(t *testing.T) {
	for _, webhooks := range []bool{false, true} {
		options := shop(t.TempDir())
		options.Webhooks = webhooks
		before := written(t, options)
		var said strings.Builder
		require.NoError(t, AddKind(options.Dir, "Order", &said))
		require.NoError(t, AddKind(options.Dir, "Policy", io.Discard))
		assert.NotContains(t, said.String(), "by hand")

		after := filesOf(t, options.Dir)
		for name, text := range before {
			if name != "internal/app/kinds.go" && name != "config/kustomization.yaml" {
				assert.Equal(t, text, after[name], "%s was changed", name)
			}
		}
		for kind, lower := range map[string]string{"Order": "order", "Policy": "policy"} {
			assert.Contains(t, after["internal/app/kinds.go"], "controller."+kind+"Reconciler{")
			assert.Equal(t, webhooks, strings.Contains(after["internal/app/kinds.go"], "webhook.Setup"+kind+"(mgr)"))
			assert.Contains(t, after["api/v1/"+lower+"_types.go"], "type "+kind+" struct")
			assert.Contains(t, after, "internal/controller/"+lower+"_controller_test.go")
			assert.Contains(t, after, "config/samples/"+lower+".yaml")
		}
		assert.Contains(t, after["config/kustomization.yaml"],
			"- crd/shop.example.com_shops.yaml\n- crd/shop.example.com_orders.yaml\n- crd/shop.example.com_policies.yaml\n")
	}
}

func TestAListThatWasChangedByHandIsLeftAndItsLinesAreSaid(t *testing.T) {
	options := shop(t.TempDir())
	options.Webhooks, options.ControllerRuntime = true, true
	before := written(t, options)
	changed := before["internal/app/kinds.go"] + "\n// A note.\n"
	name := filepath.Join(options.Dir, "internal", "app", "kinds.go")
	require.NoError(t, os.WriteFile(name, []byte(changed), 0o600))
	var said strings.Builder
	require.NoError(t, AddKind(options.Dir, "Order", &said))
	after := filesOf(t, options.Dir)
	assert.Equal(t, changed, after["internal/app/kinds.go"])
	assert.Contains(t, said.String(), "internal/app/kinds.go was changed by hand")
	assert.Contains(t, said.String(), "(&controller.OrderReconciler{Catalog: s.CatalogNamespace}).SetupWithManager(mgr),\nwebhook.SetupOrder(mgr),\n")
	assert.Contains(t, after["config/kustomization.yaml"], "crd/shop.example.com_orders.yaml", "this one was not changed")
	assert.Contains(t, after["internal/controller/order_controller.go"], `ctrl "sigs.k8s.io/controller-runtime"`)
}

func TestAKindThatIsThereOrHasAFileThereIsRefusedAndNothingIsWritten(t *testing.T) {
	options := shop(t.TempDir())
	written(t, options)
	own := filepath.Join(options.Dir, "api", "v1", "order_types.go")
	require.NoError(t, os.WriteFile(own, []byte("package v1\n"), 0o600))
	before := filesOf(t, options.Dir)
	for kind, says := range map[string]string{"Shop": "has the kind", "SHOP": "has the kind", "Order": "is there already", "order": "capital"} {
		assert.ErrorContains(t, AddKind(options.Dir, kind, io.Discard), says)
	}
	assert.Equal(t, before, filesOf(t, options.Dir))
	assert.ErrorContains(t, AddKind(t.TempDir(), "Order", io.Discard), "not the folder of a project")
}

// operator/ is what such a project becomes. Each file of a new project has its counterpart there, but for those
// that operator/ does without, and says so here.
func TestTheOperatorOfThisRepositoryHasThePlanOfANewProject(t *testing.T) {
	options := shop(filepath.Join(t.TempDir(), "operator"))
	options.Module, options.Kind, options.Group = "github.com/loopwright/loopwright/operator", "Site", "web.example.com"
	options.Webhooks, options.ControllerRuntime = true, true
	operator := filepath.Join("..", "..", "..", "..", "operator")
	without := map[string]string{
		"internal/app/":                   "main.go has the settings, as flags, and the list of kinds",
		"internal/dev/":                   "its tests run the program",
		"internal/webhook/doc.go":         "site_webhook.go has the comment of the package",
		"internal/controller/doc.go":      "site_controller.go has the comment of the package",
		"Makefile":                        "this repository has one",
		"tools/":                          "this repository has one",
		".github/":                        "this repository has one",
		".gitignore":                      "this repository has one",
		"config/local.yaml":               "its settings are flags",
		"config/manager/":                 "it is compared, and not deployed",
		"config/kustomization.yaml":       "it is compared, and not deployed",
		"config/rbac/binding.yaml":        "it is compared, and not deployed",
		"config/rbac/metrics.yaml":        "it is compared, and not deployed",
		"config/rbac/policy.yaml":         "it is compared, and not deployed",
		"config/webhook/service.yaml":     "it is compared, and not deployed",
		"config/webhook/certificate.yaml": "it is compared, and not deployed",
		"config/samples/":                 "its README has one",
	}
	for name := range written(t, options) {
		missing := slices.ContainsFunc(slices.Collect(maps.Keys(without)), func(prefix string) bool { return strings.HasPrefix(name, prefix) })
		if missing {
			assert.NoFileExists(t, filepath.Join(operator, name), "it is there, and the list says that it is not")
		} else {
			assert.FileExists(t, filepath.Join(operator, name))
		}
	}
}
