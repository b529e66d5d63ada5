package main

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func built(t *testing.T, platforms ...string) (archive string) {
	archive = filepath.Join(t.TempDir(), "new", "image.tar")
	must(t, run("testdata/hello", archive, "registry.example.com/hello:dev", platforms))
	return archive
}

// unpack returns the index of all platforms that is in an archive.
func unpack(t *testing.T, archive string) v1.ImageIndex {
	dir := t.TempDir()
	file, err := os.Open(archive)
	must(t, err)
	defer func() { _ = file.Close() }()
	reader := tar.NewReader(file)
	for {
		header, err := reader.Next()
		if err == io.EOF {
			break
		}
		must(t, err)
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, header.Name)), 0o755))
		content, err := io.ReadAll(reader)
		must(t, err)
		must(t, os.WriteFile(filepath.Join(dir, header.Name), content, 0o644))
	}
	top, err := layout.ImageIndexFromPath(dir)
	must(t, err)
	manifest, err := top.IndexManifest()
	must(t, err)
	if len(manifest.Manifests) != 1 || manifest.Manifests[0].Annotations["io.containerd.image.name"] != "registry.example.com/hello:dev" {
		t.Fatalf("the archive names no image: %+v", manifest.Manifests)
	}
	index, err := top.ImageIndex(manifest.Manifests[0].Digest)
	must(t, err)
	return index
}

func TestTheImageHoldsTheProgramAndNothingElse(t *testing.T) {
	platform := "linux/" + runtime.GOARCH
	index := unpack(t, built(t, platform))
	must(t, validate.Index(index))
	manifest, err := index.IndexManifest()
	must(t, err)
	if got := manifest.Manifests[0].Platform.String(); got != platform {
		t.Errorf("the image is for %s", got)
	}
	image, err := index.Image(manifest.Manifests[0].Digest)
	must(t, err)
	config, err := image.ConfigFile()
	must(t, err)
	if config.Config.User != "65532:65532" || strings.Join(config.Config.Entrypoint, " ") != "/controllers" || config.Architecture != runtime.GOARCH {
		t.Errorf("config: %+v", config)
	}
	layers, err := image.Layers()
	must(t, err)
	if len(layers) != 1 {
		t.Fatalf("%d layers", len(layers))
	}
	files, err := layers[0].Uncompressed()
	must(t, err)
	defer func() { _ = files.Close() }()
	reader := tar.NewReader(files)
	header, err := reader.Next()
	must(t, err)
	if header.Name != "controllers" || header.Mode != 0o555 || header.Uid != 0 {
		t.Errorf("%+v", header)
	}
	binary, err := io.ReadAll(reader)
	must(t, err)
	if _, err := reader.Next(); err != io.EOF {
		t.Error("there is more in the layer")
	}
	if runtime.GOOS == "linux" {
		path := filepath.Join(t.TempDir(), "program")
		must(t, os.WriteFile(path, binary, 0o755))
		said, err := exec.Command(path).Output()
		must(t, err)
		if string(said) != "hello from the image\n" {
			t.Errorf("it says %q", said)
		}
	}
}

// Somebody else can check that an image was made of these sources.
func TestTheSameSourcesMakeTheSameBytes(t *testing.T) {
	first, err := os.ReadFile(built(t, "linux/amd64", "linux/arm64"))
	must(t, err)
	second, err := os.ReadFile(built(t, "linux/amd64", "linux/arm64"))
	must(t, err)
	if !bytes.Equal(first, second) {
		t.Error("two builds differ")
	}
}

// kind loads an image under the name in the archive, and a Pod finds it only under the name that its runtime makes of
// what the manifest says.
func TestTheArchiveCallsTheImageWhatAContainerRuntimeDoes(t *testing.T) {
	for imageName, want := range map[string]string{
		"shop:dev":                     "docker.io/library/shop:dev",
		"shop":                         "docker.io/library/shop:latest",
		"loopwright/controllers:dev":   "docker.io/loopwright/controllers:dev",
		"docker.io/acme/shop:v1":       "docker.io/acme/shop:v1",
		"docker.io/shop:v1":            "docker.io/library/shop:v1",
		"index.docker.io/shop:v1":      "docker.io/library/shop:v1",
		"registry.example.com/shop:v1": "registry.example.com/shop:v1",
		"ghcr.io/acme/team/shop:v1":    "ghcr.io/acme/team/shop:v1",
		"localhost:5001/shop:v1":       "localhost:5001/shop:v1",
		"localhost:5001/shop":          "localhost:5001/shop:latest",
		"localhost/shop:v1":            "localhost/shop:v1",
	} {
		tag, err := name.NewTag(imageName)
		must(t, err)
		if got := runtimeName(tag); got != want {
			t.Errorf("%s is called %s, and should be %s", imageName, got, want)
		}
	}
}

func TestANameThatIsNoneIsRefusedBeforeAnythingIsBuilt(t *testing.T) {
	for _, imageName := range []string{"", "Shop:v1", "shop:", "shop@sha256:" + strings.Repeat("0", 64)} {
		err := run("testdata/none", filepath.Join(t.TempDir(), "image.tar"), imageName, []string{"linux/amd64"})
		if err == nil || !strings.Contains(err.Error(), "image name") {
			t.Errorf("%q: %v", imageName, err)
		}
	}
}

func TestAPlatformThatGoDoesNotKnowIsNamed(t *testing.T) {
	err := run("testdata/hello", filepath.Join(t.TempDir(), "image.tar"), "x:y", []string{"linux/abacus"})
	if err == nil || !strings.Contains(err.Error(), "building testdata/hello for linux/abacus") {
		t.Error(err)
	}
}
