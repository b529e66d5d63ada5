package healthz_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/loopwright/loopwright/manager/healthz"
)

func ExampleHandler() {
	handler := &healthz.Handler{Checks: map[string]healthz.Checker{
		"ping":  healthz.Ping,
		"queue": func(*http.Request) error { return errors.New("10,000 messages wait") },
	}}
	for _, path := range []string{"/", "/queue", "/?exclude=queue"} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		fmt.Println(w.Code, w.Body)
	}
	// Output:
	// 500 [+]ping ok
	// [-]queue failed: reason withheld
	// healthz check failed
	//
	// 500 internal server error: 10,000 messages wait
	//
	// 200 ok
}

func ExampleCheckHandler() {
	http.Handle("/alive", healthz.CheckHandler{Checker: healthz.Ping})
}
