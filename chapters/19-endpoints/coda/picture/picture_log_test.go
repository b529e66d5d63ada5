package picture

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// lines are what a log has of a Deployment that is scaled up one Pod at a time.
func lines(wanted int32) (all []string) {
	p, l := New("web"), Log{}
	for pods := range wanted + 1 {
		p.Saw(deployment("web", wanted, pods, pods))
		p.Saw(set(1, wanted, pods, pods, pods))
		p.Saw(endpoints("web", int(pods), 0))
		for range 3 { // as there are many changes that do not matter
			if line, matters := l.Line(p.Facts()); matters {
				all = append(all, line)
			}
		}
	}
	return all
}

func TestTheLogHasOneLineForEachQuarter(t *testing.T) {
	assert.Equal(t, strings.TrimSpace(`
revision 1: 0 of 100 ready | endpoints: 0
revision 1: 1 of 100 ready | endpoints: 1
revision 1: 25 of 100 ready | endpoints: 25
revision 1: 50 of 100 ready | endpoints: 50
revision 1: 75 of 100 ready | endpoints: 75
revision 1: 100 of 100 ready | endpoints: 100`), strings.Join(lines(100), "\n"))
	assert.Len(t, lines(200), len(lines(100)), "as many lines for twice as many Pods")
}

func TestTheLogSaysThatARolloutHasStalled(t *testing.T) {
	line, matters := (&Log{}).Line(badUpdate().Facts())
	assert.True(t, matters)
	assert.Equal(t, "revision 2: 8 of 8 ready | revision 3: 0 of 5 ready | endpoints: 8 and 5 not ready | ProgressDeadlineExceeded", line)
}

func TestTheLogIsSilentUntilThereIsAReplicaSet(t *testing.T) {
	_, matters := (&Log{}).Line(Facts{Wanted: 3})
	assert.False(t, matters)
}
