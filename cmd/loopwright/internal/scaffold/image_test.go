package scaffold

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/goproxytest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"
)

// modules are the library as a checkout has it, and as a module proxy does: there, tools is another
// module. Instead of writing an image, its program says where it is from and what it is told.
const modules = `
-- checkout/go.mod --
module github.com/loopwright/loopwright

go 1.26.0
-- checkout/tools/go.mod --
module github.com/loopwright/loopwright/tools

go 1.26.0
-- checkout/tools/image/main.go --
package main

import "os"

func main() {
	for _, word := range append([]string{"from the checkout"}, os.Args[1:]...) {
		println(word)
	}
}
-- proxy/github.com_loopwright_loopwright_v1.2.3/.mod --
module github.com/loopwright/loopwright

go 1.26.0
-- proxy/github.com_loopwright_loopwright_v1.2.3/.info --
{"Version": "v1.2.3"}
-- proxy/github.com_loopwright_loopwright_v1.2.3/go.mod --
module github.com/loopwright/loopwright

go 1.26.0
-- proxy/github.com_loopwright_loopwright_tools_v1.2.3/.mod --
module github.com/loopwright/loopwright/tools

go 1.26.0
-- proxy/github.com_loopwright_loopwright_tools_v1.2.3/.info --
{"Version": "v1.2.3"}
-- proxy/github.com_loopwright_loopwright_tools_v1.2.3/go.mod --
module github.com/loopwright/loopwright/tools

go 1.26.0
-- proxy/github.com_loopwright_loopwright_tools_v1.2.3/image/main.go --
package main

import "os"

func main() {
	for _, word := range append([]string{"from the proxy"}, os.Args[1:]...) {
		println(word)
	}
}
-- proxy/github.com_loopwright_loopwright_tools_v1.3.0/.mod --
module github.com/loopwright/loopwright/tools

go 1.26.0
-- proxy/github.com_loopwright_loopwright_tools_v1.3.0/.info --
{"Version": "v1.3.0"}
-- proxy/github.com_loopwright_loopwright_tools_v1.3.0/go.mod --
module github.com/loopwright/loopwright/tools

go 1.26.0
-- proxy/github.com_loopwright_loopwright_tools_v1.3.0/image/main.go --
package main

func main() { println("from a release that go.mod does not have") }
`

// A project begins on a checkout, and goes on with a release. It can be deployed on both.
func TestMakeImageWorksOnACheckoutAndOnARelease(t *testing.T) {
	dir := t.TempDir()
	for _, file := range txtar.Parse([]byte(modules)).Files {
		require.NoError(t, writeFile(filepath.Join(dir, file.Name), file.Data))
	}
	checkout := filepath.Join(dir, "checkout")
	proxy := goproxytest.NewTestServer(t, filepath.Join(dir, "proxy"), "")
	for _, try := range []struct {
		name    string
		options Options
		first   []string // commands before make image
		from    string
	}{
		{"on a checkout", Options{Replace: checkout}, nil, "from the checkout"},
		{"on a release", Options{Version: "v1.2.3"}, nil, "from the proxy"},
		{"first a checkout, then a release", Options{Replace: checkout}, []string{ // its README says so
			"go mod edit -dropreplace github.com/loopwright/loopwright -droprequire github.com/loopwright/loopwright",
			"go get github.com/loopwright/loopwright@latest",
		}, "from the proxy"},
	} {
		t.Run(try.name, func(t *testing.T) {
			options := try.options
			options.Dir, options.Module, options.Kind = filepath.Join(dir, try.name), "example.com/shop", "Shop"
			files := written(t, options)
			assert.Equal(t, options.Replace != "", strings.Contains(files["go.mod"], "=> ../checkout\n"))
			types := func(command string) string {
				words := strings.Fields(command)
				c := exec.Command(words[0], words[1:]...)
				c.Dir = options.Dir
				c.Env = append(os.Environ(), "GOPROXY="+proxy.URL, "GOSUMDB=off", "GOMODCACHE="+filepath.Join(dir, "cache"),
					"GOFLAGS=-mod=mod -modcacherw", "GOWORK=off", "GOTOOLCHAIN=local", "MAKEFLAGS=", "MAKELEVEL=")
				said, err := c.CombinedOutput()
				require.NoError(t, err, "%s:\n%s", command, said)
				return string(said)
			}
			for _, command := range try.first {
				assert.Contains(t, files["README.md"], command+"\n")
				types(command)
			}
			said := types("make --old-file=generate image IMAGE=registry.example.com/shop:v1 PLATFORMS=linux/arm64")
			want := []string{
				try.from, "-o", filepath.Join(options.Dir, "bin", "image.tar"), "-name", "registry.example.com/shop:v1",
				"-platforms", "linux/arm64", filepath.Join(options.Dir, "cmd"),
			}
			assert.Contains(t, said, strings.Join(want, "\n")+"\n")
			assert.DirExists(t, filepath.Join(options.Dir, "bin"))
		})
	}
}
