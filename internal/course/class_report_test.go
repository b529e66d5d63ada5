package course

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A projector shows 100 columns. What is wider is broken anywhere, and no one can read the table.
func TestAReportOfACourseAndACrowdFitsOnAProjector(t *testing.T) {
	t.Parallel()
	c := class{verdicts: map[string][]verdict{}}
	c.leftOut = []string{"zoe.zip is left out: " + strings.Repeat("why ", 50)}
	wrong := verdict{"3 of 15", strings.Repeat("It does not hold. ", 9)}
	for number := 1; number <= 26; number++ {
		e := Exercise{Number: number, Name: fmt.Sprintf("%02d-x", number)}
		c.exercises = append(c.exercises, e)
		if number == 26 {
			c.verdicts[e.Name] = []verdict{{state: notBegun}, {state: notBegun}}
			continue
		}
		c.verdicts[e.Name] = []verdict{{state: solved}, wrong}
	}
	c.homes = []learnerHome{{name: "Ada"}, {name: strings.Repeat("ö", 80)}}
	text := c.report()
	assert.LessOrEqual(t, widest(text), 100)
	var columns []string
	for line := range strings.Lines(text) {
		if cells := strings.Fields(line); len(cells) > 0 && cells[0] == "learner" {
			columns = append(columns, cells[1:len(cells)-1]...)
		}
	}
	var want []string
	for number := 1; number <= 25; number++ {
		want = append(want, fmt.Sprint(number))
	}
	assert.Equal(t, want, columns, "each exercise that a learner has begun has a column")
	assert.Regexp(t, `(?m)^Ada( +solved)+ +25$`, text, "the count is that of all exercises")
	assert.Contains(t, text, "\nööööööööööööööööö..., 25: It does not hold.")
	assert.Contains(t, text, "\nzoe.zip is left out: why why")
	assert.Contains(t, text, "\nNobody has begun any of the other 1 exercises.\n")
}
