// Package apierrors has the functions of k8s.io/apimachinery/pkg/api/errors by which a cursor recognises 410. In a
// figure nobody makes a request, so there are no such errors. See package watch, beside it.
package apierrors

func IsResourceExpired(error) bool { return false }

func IsGone(error) bool { return false }
