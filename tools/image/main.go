// Command image writes a container image with one Go program, for several platforms, without a container engine.
//
// A package goes in, and an OCI archive comes out: for each platform, one layer with the static binary and nothing
// else. It needs no base image, so it needs no network. The same sources and the same Go make the same bytes.
//
// There are no CA certificates in it: the program is meant to talk to an API server, whose CA comes with the service
// account. It is in a module of its own because of go-containerregistry, which knows the formats.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

func main() {
	out := flag.String("o", "image.tar", "the archive to write")
	image := flag.String("name", "loopwright/controllers:dev", "the image's name, with a tag")
	platforms := flag.String("platforms", "linux/amd64,linux/arm64", "the platforms, with commas between")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "image writes a container image with one Go program: image [flags] PACKAGE-DIRECTORY")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(flag.Arg(0), *out, *image, strings.Split(*platforms, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

// run builds the program in a directory for each platform, and writes the image.
func run(dir, out, imageName string, platforms []string) error {
	tag, err := name.NewTag(imageName)
	if err != nil {
		return fmt.Errorf("image name %q: %w", imageName, err)
	}
	var images []platformImage
	for _, text := range platforms {
		platform, err := v1.ParsePlatform(text)
		if err != nil {
			return fmt.Errorf("platform %q: %w", text, err)
		}
		fmt.Fprintf(os.Stderr, "compiling for %s: the first time takes a minute or two\n", text)
		binary, err := compile(dir, *platform)
		if err != nil {
			return err
		}
		image, err := imageOf(binary, *platform)
		if err != nil {
			return fmt.Errorf("making the image for %s: %w", text, err)
		}
		images = append(images, platformImage{*platform, image})
	}
	digest, err := write(out, tag, images)
	if err != nil {
		return fmt.Errorf("writing %s: %w", out, err)
	}
	fmt.Printf("%s\n%s@%s, for %s\n", out, imageName, digest, strings.Join(platforms, " and "))
	return nil
}
