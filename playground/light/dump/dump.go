// Package dump takes the place of k8s.io/utils/dump, with which a patch that can't be printed as YAML is
// printed in an error.
package dump

import "fmt"

// Pretty prints a value as Go does.
func Pretty(a any) string { return fmt.Sprintf("%#v", a) }
