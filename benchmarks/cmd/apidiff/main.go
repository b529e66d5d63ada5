// Command apidiff compares what this library exports with what controller-runtime exports, and
// writes the report docs/api.md, and internal/migrate/names.yaml for the command that ports programs.
//
// The goal is that a user's file needs new import paths and nothing else, as long as it mentions no
// name of the form Typed…. So each package of controller-runtime is compared with ours, with the
// import paths rewritten: which names are missing, which differ (a signature, a field, a method, the
// value of a constant), and which exist only here. A difference that is wanted is explained in
// explained.yaml. A difference without an explanation, and an explanation without a difference, are
// errors.
//
//	go run ./cmd/apidiff           writes both
//	go run ./cmd/apidiff -check    fails if that would change it
//
// The way of the data: load.go reads the packages' types; pairs.go knows which type of theirs is
// which of ours; same.go decides whether two types are the same, and members.go which fields and
// methods are not; names.go compares the declared names; explain.go adds the reasons, and report.go
// and usable.go write it all down.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/loopwright/loopwright/internal/migrate"
)

// real is where controller-runtime's packages are, and where ours are.
var real = places{
	Paths:   migrate.ControllerRuntime,
	object:  "sigs.k8s.io/controller-runtime/pkg/client.Object",
	request: "sigs.k8s.io/controller-runtime/pkg/reconcile.Request",
}

func main() {
	check := flag.Bool("check", false, "write nothing, and fail if the report is out of date")
	flag.Parse()
	if err := run(*check); err != nil {
		fmt.Fprintln(os.Stderr, "apidiff:", err)
		os.Exit(1)
	}
}

func run(check bool) error {
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	reasons, err := readReasons(filepath.Join(root, "cmd", "apidiff", "explained.yaml"))
	if err != nil {
		return err
	}
	result, err := compare(root, real, reasons)
	if err != nil {
		return err
	}
	version, err := versionOf(root, real.TheirRoot)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	writeReport(&text, "controller-runtime "+version, result)
	names, err := writeNames(result.names)
	if err != nil {
		return err
	}
	for _, written := range []struct {
		file string
		text []byte
	}{{"docs/api.md", text.Bytes()}, {"internal/migrate/names.yaml", names}} {
		file := filepath.Join(root, "..", filepath.FromSlash(written.file))
		if !check {
			if err := os.WriteFile(file, written.text, 0o644); err != nil {
				return err
			}
			continue
		}
		old, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if !bytes.Equal(old, written.text) {
			return fmt.Errorf("%s is out of date (%s); `make api` writes it", written.file, firstChange(string(old), string(written.text)))
		}
	}
	if len(result.complaints) > 0 {
		return errors.New("docs/api.md: " + strings.Join(result.complaints, "\n\t"))
	}
	return nil
}

// moduleRoot is the directory of the benchmarks' go.mod, at or above the current one.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "cmd", "apidiff", "explained.yaml")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("run it in benchmarks/")
		}
		dir = filepath.Dir(dir)
	}
}

// firstChange names the first line that differs.
func firstChange(old, now string) string {
	before, after := strings.Split(old, "\n"), strings.Split(now, "\n")
	for i := range min(len(before), len(after)) {
		if before[i] != after[i] {
			return fmt.Sprintf("line %d is %q, and should be %q", i+1, before[i], after[i])
		}
	}
	return fmt.Sprintf("it has %d lines, and should have %d", len(before), len(after))
}
