// Package hostile has tests of what client-go and controller-runtime make of answers that aren't the
// API server's: docs/hostile-network.md quotes them. If a new version does better, they fail, and
// the table there has to say so.
//
//	go -C benchmarks test ./hostile
package hostile
