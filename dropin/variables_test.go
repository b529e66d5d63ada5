package controllerruntime_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	ours "github.com/loopwright/loopwright/manager/metrics"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// assign gives a variable a value for as long as the test runs.
func assign[T any](t *testing.T, variable *T, value T) {
	before := *variable
	*variable = value
	t.Cleanup(func() { *variable = before })
}

// newManager makes a manager that finds no server.
func newManager(t *testing.T) ctrl.Manager {
	t.Helper()
	mgr, err := ctrl.NewManager(&rest.Config{Host: "127.0.0.1:1"}, ctrl.Options{
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return meta.NewDefaultRESTMapper(nil), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	return mgr
}

// lines is a logger that counts the lines that reach it.
func lines(count *int) logr.Logger {
	return funcr.New(func(string, string) { *count++ }, funcr.Options{})
}

func TestAnAssignedLoggerIsTheProgramsLogger(t *testing.T) {
	var assigned, inContext int
	assign(t, &log.Log, lines(&assigned))
	log.FromContext(context.Background()).Info("a line")
	ctrl.LoggerFrom(t.Context(), "key", "value").Info("a line")
	newManager(t).GetLogger().Info("a line")
	if assigned != 3 {
		t.Errorf("%d lines reached the logger, not 3", assigned)
	}
	log.FromContext(log.IntoContext(t.Context(), lines(&inContext))).Info("a line")
	if assigned != 3 || inContext != 1 {
		t.Errorf("a logger in the context got %d lines, not 1, and the other one %d, not 3", inContext, assigned)
	}
}

func TestAnAssignedRegistryIsServed(t *testing.T) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(prometheus.NewCounter(prometheus.CounterOpts{Name: "mine_total"}))
	assign[metrics.RegistererGatherer](t, &metrics.Registry, registry)
	families, err := ours.Registry.Gather()
	if err != nil || len(families) != 1 || families[0].GetName() != "mine_total" {
		t.Errorf("the library serves %v (%v)", families, err)
	}
	other := prometheus.NewCounter(prometheus.CounterOpts{Name: "other_total"})
	if err := ours.Registry.Register(other); err != nil || !registry.Unregister(other) {
		t.Errorf("what the library registers isn't in the program's registry (%v)", err)
	}
}

func TestAssignedDefaultsHold(t *testing.T) {
	assign(t, &server.DefaultBindAddress, "0")
	assign(t, &webhook.DefaultPort, 12345)
	if made, err := server.NewServer(server.Options{}, nil, nil); made != nil || err != nil {
		t.Errorf("there is a metrics server although the default address is 0 (%v)", err)
	}
	if port := webhook.NewServer(webhook.Options{}).(*webhook.DefaultServer).Options.Port; port != 12345 {
		t.Errorf("a webhook server has port %d", port)
	}
	if port := newManager(t).GetWebhookServer().(*webhook.DefaultServer).Options.Port; port != 12345 {
		t.Errorf("the manager's webhook server has port %d", port)
	}
	if port := webhook.NewServer(webhook.Options{Port: 1}).(*webhook.DefaultServer).Options.Port; port != 1 {
		t.Errorf("a webhook server with port 1 has port %d", port)
	}
}
