package pages

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestATableOfManyColumnsIsMarkedForPhones(t *testing.T) {
	row := func(columns int) string { return strings.Repeat("| a ", columns) + "|\n" }
	table := func(columns int) string {
		return "# T\n\n" + row(columns) + strings.ReplaceAll(row(columns), "a", "-") + row(columns)
	}
	assert.Contains(t, htmlOf(t, table(5)), "<table>")
	assert.Contains(t, htmlOf(t, table(6)), `<table class="wide">`)
}
