package informer

import (
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The chapter draws the machine's states. Each arrow must be a way that the machine
// takes, and each way must have an arrow, or readers learn another machine.
func TestTheChaptersDiagramHasTheMachinesTransitions(t *testing.T) {
	text, err := os.ReadFile("../chapters/03-reflector/library.md")
	require.NoError(t, err)
	_, diagram, found := strings.Cut(string(text), "stateDiagram-v2")
	require.True(t, found, "the chapter must have a state diagram")
	diagram, _, _ = strings.Cut(diagram, "```")
	drawn := map[string]bool{}
	for _, arrow := range regexp.MustCompile(`(\S+) --> (\w+)`).FindAllStringSubmatch(diagram, -1) {
		drawn[strings.ToLower(strings.ReplaceAll(arrow[1], "[*]", "idle")+" to "+arrow[2])] = true
	}

	e := newExercised()
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 7))
		w, at := begun(t, seed%2 == 0, e), time.Duration(0)
		for range 500 {
			at = max(at, w.at) + time.Duration(random.IntN(20))*time.Second/4
			answers := answersTo(w.act, w.m, at)
			w = w.step(t, answers[random.IntN(len(answers))])
		}
	}
	taken := map[string]bool{}
	for move := range e.moves {
		taken[move[0].String()+" to "+move[1].String()] = true
	}
	require.Equal(t, taken, drawn)
}
