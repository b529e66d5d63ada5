package manager_test

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/metrics/server"
)

func ExampleNew() {
	cluster := fakeapi.New(fakeapi.Options{}) // config.GetConfig finds a real one
	defer cluster.Close()
	m, err := manager.New(cluster.Config(), manager.Options{
		Logger:  logr.Discard(),
		Metrics: server.Options{BindAddress: "0"},
	})
	if err != nil {
		panic(err)
	}
	// signals.SetupSignalHandler, in a real program
	ctx, stop := context.WithCancel(context.Background())
	err = m.Add(manager.RunnableFunc(func(ctx context.Context) error {
		fmt.Println("works")
		stop()
		<-ctx.Done()
		fmt.Println("ends")
		return nil
	}))
	if err != nil {
		panic(err)
	}
	fmt.Println("Start returns", m.Start(ctx))
	// Output:
	// works
	// ends
	// Start returns <nil>
}
