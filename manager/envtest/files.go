package envtest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// document is one object of a file, as text.
type document struct {
	kind metav1.TypeMeta
	text []byte
}

// into decodes the object into a Go type.
func (d document) into(path string, object any) error {
	if err := yaml.Unmarshal(d.text, object); err != nil {
		return fmt.Errorf("reading the %s in %s: %w", d.kind.Kind, path, err)
	}
	return nil
}

// ReadCRDFiles adds the CRDs of options.Paths to options.CRDs. If several have one name, the last
// one is used.
func ReadCRDFiles(options *CRDInstallOptions) error {
	var read []*apiextensionsv1.CustomResourceDefinition
	err := eachDocument(options.Paths, !options.ErrorIfPathMissing,
		func(path string, d document) error {
			if d.kind.Kind != "CustomResourceDefinition" {
				return nil
			}
			if want := apiextensionsv1.SchemeGroupVersion.String(); d.kind.APIVersion != want {
				return fmt.Errorf("reading %s: a CustomResourceDefinition of %s: want %s",
					path, d.kind.APIVersion, want)
			}
			crd := &apiextensionsv1.CustomResourceDefinition{}
			read = append(read, crd)
			return d.into(path, crd)
		})
	if err != nil {
		return err
	}
	options.CRDs = mergeCRDs(options.CRDs, read)
	return nil
}

// mergeCRDs joins lists. If several CRDs have one name, the last one replaces the first, at its
// place. So reading a directory again, as Stop does, adds no duplicates.
func mergeCRDs(
	lists ...[]*apiextensionsv1.CustomResourceDefinition,
) []*apiextensionsv1.CustomResourceDefinition {
	return mergeBy(func(crd *apiextensionsv1.CustomResourceDefinition) string {
		return crd.Name
	}, lists...)
}

func mergeBy[T any, K comparable](key func(T) K, lists ...[]T) []T {
	var merged []T
	places := map[K]int{}
	for _, object := range slices.Concat(lists...) {
		if place, found := places[key(object)]; found {
			merged[place] = object
			continue
		}
		places[key(object)] = len(merged)
		merged = append(merged, object)
	}
	return merged
}

func merge(lists ...[]string) []string {
	return mergeBy(func(path string) string { return path }, lists...)
}

// readWebhookFiles adds the webhook configurations of o.Paths to those that o has.
func (o *WebhookInstallOptions) readWebhookFiles() error {
	var mutating []*admissionv1.MutatingWebhookConfiguration
	var validating []*admissionv1.ValidatingWebhookConfiguration
	err := eachDocument(o.Paths, o.IgnoreErrorIfPathMissing, func(path string, d document) error {
		var object any
		switch d.kind.Kind {
		case "MutatingWebhookConfiguration":
			mutating = append(mutating, &admissionv1.MutatingWebhookConfiguration{})
			object = mutating[len(mutating)-1]
		case "ValidatingWebhookConfiguration":
			validating = append(validating, &admissionv1.ValidatingWebhookConfiguration{})
			object = validating[len(validating)-1]
		default:
			return nil
		}
		if want := admissionv1.SchemeGroupVersion.String(); d.kind.APIVersion != want {
			return fmt.Errorf("reading %s: a %s of %s: want %s",
				path, d.kind.Kind, d.kind.APIVersion, want)
		}
		return d.into(path, object)
	})
	if err != nil {
		return err
	}
	o.MutatingWebhooks = mergeBy(func(w *admissionv1.MutatingWebhookConfiguration) string {
		return w.Name
	}, o.MutatingWebhooks, mutating)
	o.ValidatingWebhooks = mergeBy(func(w *admissionv1.ValidatingWebhookConfiguration) string {
		return w.Name
	}, o.ValidatingWebhooks, validating)
	return nil
}

// eachDocument calls visit for each object in files, and in the files of directories.
func eachDocument(
	paths []string, skipMissing bool, visit func(path string, d document) error,
) error {
	for _, path := range paths {
		files, err := filesOf(path)
		if errors.Is(err, fs.ErrNotExist) && skipMissing {
			continue
		}
		if err != nil {
			return fmt.Errorf("reading what to install: %w", err)
		}
		for _, file := range files {
			if err := eachDocumentOf(file, visit); err != nil {
				return err
			}
		}
	}
	return nil
}

// filesOf returns the path itself if it's a file, and for a directory the files that may hold
// objects, sorted.
func filesOf(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return []string{path}, err
	}
	entries, err := os.ReadDir(path)
	var files []string
	for _, entry := range entries {
		if slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(entry.Name())) &&
			!entry.IsDir() {
			files = append(files, filepath.Join(path, entry.Name()))
		}
	}
	return files, err
}

func eachDocumentOf(path string, visit func(path string, d document) error) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading what to install: %w", err)
	}
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	for {
		text, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading %s: %w", path, err)
		}
		d := document{text: text}
		if err := yaml.Unmarshal(text, &d.kind); err != nil {
			return fmt.Errorf("reading %s: %w", path, err)
		}
		if err := visit(path, d); err != nil {
			return err
		}
	}
}
