// Package shell shows figures to a page's script. There is one instance for all figures of a module; each figure of
// the page has a session of its own. It is for WebAssembly only.
package shell
