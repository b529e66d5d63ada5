package pages

import "github.com/alecthomas/chroma/v2/styles"

// The colors of code, on light and on dark.
var (
	lightStyle = styles.Get("github")
	darkStyle  = styles.Get("github-dark")
)
