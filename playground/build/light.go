package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// module is a module of others of which a page gets a lighter copy: without some files, with some of
// ours in their place, and with lighter imports. All else is the original, and our own code is not
// touched.
type module struct {
	path    string
	without []string          // files, by their names, or in one package by their paths
	files   map[string]string // in place of a package's files: directory -> ours, from playground/light
	imports map[string][]light
}

// light is an import that is replaced in a file.
type light struct{ heavy, by string }

// ours is where the light packages are.
const ours = "github.com/loopwright/loopwright/playground/light/"

// heavy imports that several files have.
var (
	noCBOR   = light{"k8s.io/apimachinery/pkg/runtime/serializer/cbor", ours + "cbor"}
	noDirect = light{"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct", ours + "direct"}
	noHTTP2  = light{"golang.org/x/net/http2", ours + "http2"}
	noSchema = light{"k8s.io/kube-openapi/pkg/util/proto", ours + "openapischema"}
	noSpec   = light{"k8s.io/kube-openapi/pkg/validation/spec", ours + "spec"}
)

// lighter are the modules. What each cut saves is in playground/README.md.
var lighter = []module{
	{
		path:    "k8s.io/api",
		without: []string{"generated.pb.go", "types_swagger_doc_generated.go"},
	},
	{
		path: "k8s.io/client-go",
		without: []string{
			"applyconfigurations/meta/v1/unstructured.go", // asks for OpenAPI
			"gentype/fake.go", // is for tests
		},
		files: map[string]string{
			"kubernetes":                   "kubernetes/clientset.go",
			"kubernetes/scheme":            "scheme/register.go",
			"applyconfigurations":          "applyconfigurations/utils.go",
			"applyconfigurations/internal": "applyinternal/internal.go",
		},
		imports: map[string][]light{
			"discovery/discovery_client.go": {
				{"github.com/google/gnostic-models/openapiv2", ours + "openapiv2"},
				{"google.golang.org/protobuf/proto", ours + "proto"},
				{"k8s.io/client-go/openapi", ours + "openapi"},
			},
			"rest/transport.go": {
				{"k8s.io/client-go/plugin/pkg/client/auth/exec", ours + "exec"},
			},
			"rest/config.go":         {noCBOR, {"k8s.io/client-go/util/cert", ours + "cert"}},
			"transport/transport.go": {{"crypto/x509", ours + "x509"}},
			"rest/request.go":        {noHTTP2},
			"dynamic/scheme.go":      {noCBOR},
			"util/apply/apply.go":    {noDirect},
		},
	},
	{
		path:    "k8s.io/apimachinery",
		without: []string{"types_swagger_doc_generated.go"},
		files: map[string]string{
			"pkg/util/managedfields": "managedfields/managedfields.go",
		},
		imports: map[string][]light{
			"pkg/runtime/serializer/codec_factory.go": {
				{"k8s.io/apimachinery/pkg/runtime/serializer/protobuf", ours + "protobuf"},
			},
			"pkg/util/strategicpatch/meta.go":  {noSchema, noSpec},
			"pkg/util/strategicpatch/types.go": {noSchema},
			"pkg/util/mergepatch/util.go":      {{"k8s.io/utils/dump", ours + "dump"}},
			"pkg/util/net/http.go":             {noHTTP2},
			"pkg/util/intstr/intstr.go":        {noDirect},
			"pkg/runtime/extension.go":         {noDirect},
			"pkg/api/resource/quantity.go":     {noDirect},
			"pkg/apis/meta/v1/helpers.go":      {noDirect},
			"pkg/apis/meta/v1/time.go":         {noDirect},
			"pkg/apis/meta/v1/micro_time.go":   {noDirect},
		},
	},
	{
		path: "sigs.k8s.io/structured-merge-diff/v6",
		files: map[string]string{
			"fieldpath": "fieldpath/fieldpath.go",
			"typed":     "typed/typed.go",
		},
		imports: map[string][]light{
			"value/value.go": {{"github.com/json-iterator/go", ours + "jsoniter"}},
		},
	},
}

// write makes the lighter copy of a module in a directory. Where something that is to be replaced isn't
// there, it fails: the module has changed.
func (m module) write(root, from, to string) error {
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	imported, left := map[string]bool{}, map[string]bool{}
	err := filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(from, path)
		name = filepath.ToSlash(name)
		switch {
		case entry.IsDir() && entry.Name() == "testdata":
			return filepath.SkipDir
		case entry.IsDir():
			return os.MkdirAll(filepath.Join(to, name), 0o755)
		case name != "go.mod" && !m.keeps(name):
			left[name], left[entry.Name()] = true, true
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, l := range m.imports[name] {
			heavy := []byte(strconv.Quote(l.heavy))
			if bytes.Count(text, heavy) != 1 {
				return fmt.Errorf("%s/%s doesn't import %s", m.path, name, l.heavy)
			}
			text = bytes.Replace(text, heavy, []byte(strconv.Quote(l.by)), 1)
			imported[name] = true
		}
		return os.WriteFile(filepath.Join(to, name), text, 0o644)
	})
	if err != nil {
		return fmt.Errorf("copying %s: %w", m.path, err)
	}
	for _, name := range m.without {
		if !left[name] {
			return fmt.Errorf("%s has no file %s", m.path, name)
		}
	}
	for name := range m.imports {
		if !imported[name] {
			return fmt.Errorf("%s has no file %s", m.path, name)
		}
	}
	for dir, file := range m.files {
		text, err := os.ReadFile(filepath.Join(root, "playground", "light", file))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, dir, filepath.Base(file)), text, 0o644); err != nil {
			return fmt.Errorf("%s has no package %s: %w", m.path, dir, err)
		}
	}
	return nil
}

// keeps reports whether a page gets a file as it is, or with lighter imports.
func (m module) keeps(name string) bool {
	base := name[strings.LastIndex(name, "/")+1:]
	if !strings.HasSuffix(base, ".go") || strings.HasSuffix(base, "_test.go") {
		return false
	}
	for _, out := range m.without {
		if base == out || name == out {
			return false
		}
	}
	dir := strings.TrimSuffix(strings.TrimSuffix(name, base), "/")
	_, replaced := m.files[dir]
	return !replaced
}

// noTLS puts a light package in the place of crypto/tls, for net/http.
func noTLS(root, goroot string, overlay map[string]string) error {
	dir := filepath.Join(goroot, "src", "crypto", "tls")
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("there is no crypto/tls in %s", dir)
	}
	for _, file := range files {
		overlay[file] = "" // none
	}
	overlay[filepath.Join(dir, "tls.go")] = filepath.Join(root, "playground", "light", "tls", "tls.go")
	return nil
}
