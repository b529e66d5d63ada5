package unit

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/chapters/19-testing/website"
)

// The text says that these tests pass, and that the controller is wrong all the same.
func TestTheUnitTestsPass(t *testing.T) {
	for _, test := range Tests {
		t.Run(test.Name, func(t *testing.T) { require.NoError(t, test.Run(website.Careful)) })
	}
}
