// Package useragent says in requests which part of a program sends them.
//
//	a program's config + "leader-election" -> a config whose requests are from shop/leader-election
//
// Neighbours: below it is client-go's rest. Above it are packages of the manager that have clients of
// their own.
package useragent

import (
	"cmp"

	"k8s.io/client-go/rest"
)

// Of returns a copy of a config for one part of a program. rest.AddUserAgent would throw away the user
// agent that the program has chosen (k8s.io/client-go v0.36.3, rest/config.go), and then an audit log
// doesn't say whose requests these are.
func Of(config *rest.Config, part string) *rest.Config {
	config = rest.CopyConfig(config)
	config.UserAgent = cmp.Or(config.UserAgent, rest.DefaultKubernetesUserAgent()) + "/" + part
	return config
}
