// Package internal takes the place of client-go's applyconfigurations/internal, which has the schemas of
// all kinds as half a megabyte of YAML.
package internal

import "sigs.k8s.io/structured-merge-diff/v6/typed"

// Parser knows no types.
func Parser() *typed.Parser { return &typed.Parser{} }
