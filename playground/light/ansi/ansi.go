// Package ansi takes the place of charmbracelet's in package demo, which fits text into a terminal. A
// page wraps its text itself.
package ansi

// StringWidth is the number of bytes.
func StringWidth(text string) int { return len(text) }

// Truncate leaves text as it is.
func Truncate(text string, _ int, _ string) string { return text }

// Wordwrap leaves text as it is.
func Wordwrap(text string, _ int, _ string) string { return text }
