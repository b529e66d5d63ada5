package devca_test

import (
	"fmt"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/manager/webhook"
	"github.com/loopwright/loopwright/manager/webhook/devca"
)

// The server goes into the manager's options, as WebhookServer.
func ExampleCA_NewServer() {
	ca, err := devca.New(&rest.Config{Host: "https://127.0.0.1:6443"}, devca.Options{
		ValidatingWebhookConfigurations: []string{"bananas"},
		Hosts:                           []string{"127.0.0.1"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	server := ca.NewServer(webhook.Options{Host: "127.0.0.1", Port: 9443})
	fmt.Println(server.NeedLeaderElection(),
		strings.Count(string(ca.Bundle()), "BEGIN CERTIFICATE"))
	fmt.Println(ca.Announced())
	// Output:
	// false 1
	// ValidatingWebhookConfiguration bananas does not have the CA's certificate yet
}
