// Package book is the course as a site: pages made from the repository's own
// Markdown (cmd/book), and figures that run the real code (figures).
//
// It is a module of its own, so that what draws and tests pages never becomes a
// dependency of the library.
package book
