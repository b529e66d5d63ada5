package demo

import (
	"io"
	"os"

	"golang.org/x/term"
)

func isTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	return ok && term.IsTerminal(int(file.Fd())) && os.Getenv("NO_COLOR") == ""
}
