package pages

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestHeadingsHaveTheIdsThatGitHubGivesThem(t *testing.T) {
	for _, c := range []struct{ heading, id string }{
		{"The question: what is there?", "the-question-what-is-there"},
		{"`ListWatch.Watch` and `Event[T]`", "listwatchwatch-and-eventt"},
		{"What is a 410?", "what-is-a-410"},
		{"C++ & Go -- a comparison", "c--go----a-comparison"},
		{"snake_case stays", "snake_case-stays"},
		{"Größe, naïve, 日本", "größe-naïve-日本"},
		{"Client-go's Store", "client-gos-store"},
		{"100% of 2<sup>41</sup>", "100-of-241"},
	} {
		p, _ := newPage("a.md", "# "+c.heading+"\n")
		assert.True(t, p.ids[c.id], "%q should be #%s, and is %v", c.heading, c.id, p.ids)
	}
}

func TestASecondHeadingOfOneNameGetsANumber(t *testing.T) {
	s := slugs{}
	var ids []string
	for _, heading := range []string{"Day 1", "Break", "Break", "Break-1", "Break", "Day 1"} {
		ids = append(ids, s.next(heading))
	}
	assert.Equal(t, []string{"day-1", "break", "break-1", "break-1-1", "break-2", "day-1-1"}, ids)
}
