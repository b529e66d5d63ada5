package fakeapi

import (
	"net/http"
	"net/http/httptest"
	"strings"
)

// requestFor makes a request of a line such as "GET /api/v1/pods".
func requestFor(line string) *http.Request {
	method, path, _ := strings.Cut(line, " ")
	return httptest.NewRequest(method, path, nil)
}
