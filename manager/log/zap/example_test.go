package zap_test

import (
	"flag"
	"os"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"go.uber.org/zap/zapcore"

	"github.com/loopwright/loopwright/manager/log"
	"github.com/loopwright/loopwright/manager/log/zap"
)

func Example() {
	opts := zap.Options{Development: true}
	opts.BindFlags(flag.CommandLine)
	flag.Parse()
	log.SetLogger(zap.New(zap.UseFlagOptions(&opts)))
}

func ExampleNew() {
	withoutTime := func(c *zapcore.EncoderConfig) { c.TimeKey = "" }
	logger := zap.New(zap.WriteTo(os.Stdout), zap.JSONEncoder(withoutTime))
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	logger.Info("created", "pod", pod)
	// Output: {"level":"info","msg":"created","pod":{"namespace":"shop","name":"web"}}
}
