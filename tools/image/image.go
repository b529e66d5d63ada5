package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// program is where the binary is in the image.
const program = "/controllers"

// user has no name and no rights; with a number, Kubernetes can see that it is not root.
const user = "65532:65532"

// always is the time of everything in the image, so that it does not differ from build to build.
var always = time.Unix(0, 0).UTC()

// compile builds a static binary, and returns it.
func compile(dir string, platform v1.Platform) ([]byte, error) {
	temporary, err := os.MkdirTemp("", "loopwright-image-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(temporary) }()
	binary := filepath.Join(temporary, "program")
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid=", "-o", binary, ".")
	build.Dir = dir
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off", "GOOS="+platform.OS, "GOARCH="+platform.Architecture)
	if said, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building %s for %s: %w\n%s", dir, platform.String(), err, said)
	}
	return os.ReadFile(binary)
}

// imageOf is an image of one layer with one file.
func imageOf(binary []byte, platform v1.Platform) (v1.Image, error) {
	var files bytes.Buffer
	writer := tar.NewWriter(&files)
	header := &tar.Header{Name: program[1:], Mode: 0o555, Size: int64(len(binary)), ModTime: always, Typeflag: tar.TypeReg, Format: tar.FormatPAX}
	if err := writer.WriteHeader(header); err != nil {
		return nil, err
	}
	if _, err := writer.Write(binary); err != nil {
		return nil, err
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(files.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	image, err := mutate.Append(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON), mutate.Addendum{
		Layer: layer, MediaType: types.OCILayer, History: v1.History{Created: v1.Time{Time: always}, CreatedBy: "loopwright image"},
	})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Variant = platform.OS, platform.Architecture, platform.Variant
	config.Created = v1.Time{Time: always}
	config.Config = v1.Config{Entrypoint: []string{program}, User: user, WorkingDir: "/"}
	return mutate.ConfigFile(image, config)
}
