// Package kubectl is a prompt: it runs the lines that somebody would type at a shell, on any API
// server, and prints what kubectl prints. It's for a page, which has no shell and no room for
// kubectl's 50 MB.
//
// Data flow: a line -> words (shlex) -> flags (pflag) -> a command -> client-go's dynamic client
// -> an API server; its answer -> the columns of the kind -> the output.
//
// It has the verbs that are about objects and rollouts, for the kinds in kinds.go. What it doesn't
// have, it says so. Texts and columns are those of kubectl 1.36.
//
// Neighbours: it stands on client-go's dynamic client and k8s.io/api. Package world presses its
// buttons through it; the program playground shows it in a page.
package kubectl
