package main

import (
	"fmt"
	"io"

	"github.com/pkg/browser"
	"github.com/spf13/cobra"

	"github.com/loopwright/loopwright/xray"
)

const xrayHelp = `Xray shows a recording of a program's flight recorder in a browser: what was watched, cached,
queued, reconciled and written, step by step. You can save such a file from the page of a running
program, or with

  curl -o FILE http://127.0.0.1:8082/debug/xray/recording

The page is served on a free port of this machine until Ctrl-C, and needs no network.`

func newXRayCommand() *cobra.Command {
	var quiet bool
	command := &cobra.Command{
		Use: "xray FILE", Short: "Show a recording of a flight recorder in a browser",
		Long: xrayHelp, Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, arguments []string) error {
			return xray.ServeFile(command.Context(), arguments[0], func(url string) {
				_, _ = fmt.Fprintf(command.OutOrStdout(),
					"%s is at %s\nCtrl-C ends it.\n", arguments[0], url)
				if !quiet {
					browser.Stdout, browser.Stderr = io.Discard, io.Discard
					_ = browser.OpenURL(url) // the address is on the screen
				}
			})
		},
	}
	command.Flags().BoolVar(&quiet, "no-browser", false, "print the address, and open no browser")
	return command
}
