package signals_test

import (
	"context"
	"fmt"

	"github.com/loopwright/loopwright/manager/signals"
)

func ExampleSetupSignalHandler() {
	run := func(ctx context.Context) error {
		<-ctx.Done()
		return nil
	}
	ctx := signals.SetupSignalHandler()
	if err := run(ctx); err != nil {
		panic(err)
	}
	fmt.Println("stopped:", context.Cause(ctx))
}
