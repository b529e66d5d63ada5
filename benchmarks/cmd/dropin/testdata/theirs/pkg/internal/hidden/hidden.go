// Package hidden is what thing is made of.
package hidden

type Hidden struct{}

type Secret struct{}
