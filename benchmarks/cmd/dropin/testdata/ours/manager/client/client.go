// Package client is imported by thing.
package client

type Object interface{ GetName() string }
