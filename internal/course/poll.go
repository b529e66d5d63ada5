package course

import "strings"

// Poll is what a class votes on before it runs the naive program: a question that the text asks,
// and answers, one of which is right.
type Poll struct {
	Question string   `json:"question"`
	Answers  []Answer `json:"answers"`
}

// Answer is right, or says why it is wrong.
type Answer struct {
	Text  string `json:"text"`
	Right bool   `json:"right"`
	Why   string `json:"why"` // what somebody who chooses it has misunderstood
}

// What a slide has room for, in characters.
const (
	maxQuestion = 200
	maxAnswer   = 70
	maxWhy      = 140
)

// checkPoll proves that a class can vote, and that a learner who is wrong is told why.
func (c Chapter) checkPoll() (problems Problems) {
	file := c.Dir + "/chapter.yaml"
	short := func(text string, most int) {
		if n := len([]rune(text)); n == 0 || n > most {
			problems.add("%s, poll: want 1 to %d characters, got %d: %q", file, most, n, text)
		}
	}
	short(c.Poll.Question, maxQuestion)
	if n := len(c.Poll.Answers); n < 3 || n > 4 {
		problems.add("%s, poll: want 3 or 4 answers, got %d", file, n)
	}
	words := []string{c.Poll.Question}
	right := 0
	for _, a := range c.Poll.Answers {
		short(a.Text, maxAnswer)
		if a.Right {
			right++
		} else {
			short(a.Why, maxWhy)
		}
		if a.Right && a.Why != "" {
			problems.add("%s, poll: %q is right, so it needs no `why`", file, a.Text)
		}
		words = append(words, a.Text, a.Why)
	}
	if right != 1 {
		problems.add("%s, poll: want one answer with `right: true`, got %d", file, right)
	}
	return append(problems, checkWords(file, strings.Join(words, "\n\n"))...)
}
