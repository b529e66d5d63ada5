// Command playground is a cluster in a page: GOOS=js GOARCH=wasm, in a Web Worker. Package bridge has
// the messages.
//
// The worker defines playgroundHear(text) before it starts the program, and gets each message as JSON.
// The program defines playgroundSend(text), which takes a command as JSON, and then calls
// playgroundHear with {"is":"ready"}.
package main

import (
	"context"
	"io"
	"log/slog"
	"syscall/js"

	"github.com/loopwright/loopwright/playground/bridge"
	"github.com/loopwright/loopwright/playground/stories"
)

func main() {
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil))) // X-ray shows what a reconcile says
	hear := js.Global().Get("playgroundHear")
	b := bridge.New(func(text string) { hear.Invoke(text) })
	b.Programs = stories.All
	js.Global().Set("playgroundSend", js.FuncOf(func(_ js.Value, args []js.Value) any {
		b.Send(context.Background(), args[0].String())
		return nil
	}))
	hear.Invoke(`{"is":"ready"}`)
	select {}
}
