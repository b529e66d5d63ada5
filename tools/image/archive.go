package main

import (
	"archive/tar"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

type platformImage struct {
	platform v1.Platform
	image    v1.Image
}

// write writes an OCI archive: the directory that the OCI image layout describes, as a tar file. It returns the digest
// of the index of all platforms.
func write(out string, tag name.Tag, images []platformImage) (digest v1.Hash, err error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, i := range images {
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: i.image, Descriptor: v1.Descriptor{Platform: &i.platform}})
	}
	if digest, err = index.Digest(); err != nil {
		return digest, err
	}
	dir, err := os.MkdirTemp("", "loopwright-image-")
	if err != nil {
		return digest, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	at, err := layout.Write(dir, empty.Index)
	if err != nil {
		return digest, err
	}
	err = at.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"io.containerd.image.name":          runtimeName(tag),
		"org.opencontainers.image.ref.name": tag.TagStr(),
	}))
	if err != nil {
		return digest, err
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return digest, err
	}
	file, err := os.Create(out)
	if err != nil {
		return digest, err
	}
	if err := pack(file, dir); err != nil {
		_ = file.Close()
		return digest, err
	}
	return digest, file.Close()
}

// runtimeName is what containerd, and so kind, calls an image: docker.io/library/shop:dev for shop:dev. The library
// calls the default registry by its server's name, and runtimes do not.
func runtimeName(tag name.Tag) string {
	if path, isDefault := strings.CutPrefix(tag.Name(), name.DefaultRegistry+"/"); isDefault {
		return "docker.io/" + path
	}
	return tag.Name()
}

// pack writes the files of a directory as a tar file: in the order of their names, and without anything that differs
// from machine to machine.
func pack(to *os.File, dir string) error {
	writer := tar.NewWriter(to)
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if err := writer.WriteHeader(&tar.Header{Name: filepath.ToSlash(name), Mode: 0o644, Size: int64(len(content)), ModTime: always, Format: tar.FormatPAX}); err != nil {
			return err
		}
		_, err = writer.Write(content)
		return err
	})
	if err != nil {
		return err
	}
	return writer.Close()
}
