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
	must(t, run("testdata/hello", archive, "loopwright/hello:dev", platforms))
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
	if len(manifest.Manifests) != 1 || manifest.Manifests[0].Annotations["io.containerd.image.name"] != "docker.io/loopwright/hello:dev" {
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

func TestAPlatformThatGoDoesNotKnowIsNamed(t *testing.T) {
	err := run("testdata/hello", filepath.Join(t.TempDir(), "image.tar"), "x:y", []string{"linux/abacus"})
	if err == nil || !strings.Contains(err.Error(), "building testdata/hello for linux/abacus") {
		t.Error(err)
	}
}
