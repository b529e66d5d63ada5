package log_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/go-logr/logr/funcr"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/manager/log"
)

// A package variable may be made before main sets the logger.
var setupLog = log.Log.WithName("setup")

func Example() {
	write := func(prefix, args string) { fmt.Println(prefix, args) }
	log.SetLogger(funcr.New(write, funcr.Options{}))
	setupLog.Info("starting", "replicas", 3)

	ctx := log.IntoContext(context.Background(), log.Log.WithValues("request", "default/web"))
	log.FromContext(ctx).Info("looking")
	// Output:
	// setup "level"=0 "msg"="starting" "replicas"=3
	//  "level"=0 "msg"="looking" "request"="default/web"
}

func ExampleFromSlog() {
	withoutTime := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	handler := slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: withoutTime})
	log.FromSlog(handler).WithName("setup").Info("starting", "replicas", 3)
	// Output: level=INFO msg=starting logger=setup replicas=3
}

func ExampleNewKubeAPIWarningLogger() {
	config := &rest.Config{Host: "https://127.0.0.1:6443"}
	config.WarningHandlerWithContext = log.NewKubeAPIWarningLogger(log.KubeAPIWarningLoggerOptions{Deduplicate: true})
}
