package dropin

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestALongLogIsReadInOneGo holds that a suite which prints for minutes doesn't keep its user waiting
// afterwards: if each line cost as much as all lines before it, these would take an hour.
func TestALongLogIsReadInOneGo(t *testing.T) {
	const lines = 300_000
	var events bytes.Buffer
	events.WriteString(`{"Action":"run","Test":"TestControllers"}` + "\n")
	for i := range lines {
		_, _ = fmt.Fprintf(&events, `{"Action":"output","Test":"TestControllers","Output":"%099d\n"}`+"\n", i)
	}
	events.WriteString(`{"Action":"pass","Test":"TestControllers"}` + "\n")
	log, err := readLog(&events)
	require.NoError(t, err)
	require.Len(t, log.tests, 1)
	assert.Equal(t, "pass", log.tests[0].state)
	assert.Len(t, log.tests[0].output, lines*100)
}
