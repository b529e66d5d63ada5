// Package specs has a Ginkgo suite, and nothing to test.
package specs
