// Package web has what a page needs besides the modules: the script that opens figures, and its style sheet.
package web

import _ "embed"

//go:embed figures.js
var Script string

//go:embed figures.css
var Style string
