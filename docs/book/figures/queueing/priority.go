//go:build figures

package queueing

import (
	"strconv"
	"strings"

	"github.com/loopwright/loopwright/docs/book/figures/draw"
	"github.com/loopwright/loopwright/docs/book/figures/figure"
	"github.com/loopwright/loopwright/workqueue"
)

// Priority is the figure of chapter 9.
var Priority = figure.Definition{
	Name: "priority", Title: "Priority and fairness",
	Hint: "Give shop five items and blog one, of the same priority. Then add one of priority -100, and keep serving: when does it have its turn?",
	New:  func() figure.Figure { return newPriority(3, true) },
	Story: []figure.Action{
		{Key: "five"}, {Key: "group", Value: "blog"}, {Key: "one"}, {Key: "priority", Value: "-100"}, {Key: "one"},
		{Key: "group", Value: "shop"}, {Key: "one"}, {Key: "serve"}, {Key: "serve"}, {Key: "serve"},
	},
}

// groups are the namespaces that items are from, and priorities the classes of work.
var (
	groups     = []string{"shop", "blog", "docs"}
	priorities = []int{10, 0, workqueue.LowPriority}
)

// most is how many items may wait: a page has room for this many.
const most = 24

type priority struct {
	cores    *workqueue.Cores
	patience int
	fair     bool
	group    string
	class    int
	made     map[string]int // items of each group so far
	waiting  []added        // in the order of adding
	served   []string
}

// added is an item that waits, with what it was added with.
type added struct {
	item, group string
	class       int
}

func newPriority(patience int, fair bool) *priority {
	return &priority{cores: workqueue.NewPriorityCores(patience, fair), patience: patience, fair: fair, group: "shop", made: map[string]int{}}
}

func (q *priority) Controls() []figure.Control {
	full, empty := "", ""
	if len(q.waiting) >= most {
		full = "There is no room for more in the picture. Serve some."
	}
	if len(q.waiting) == 0 {
		empty = "Nothing waits."
	}
	classes := make([]figure.Option, len(priorities))
	for i, class := range priorities {
		classes[i] = figure.Option{Value: strconv.Itoa(class), Label: strconv.Itoa(class)}
	}
	return []figure.Control{
		{Key: "serve", Label: "Serve one", Kind: figure.Button, Off: empty, Next: true},
		{Key: "group", Label: "Namespace", Kind: figure.Choice, Group: "Somebody adds", Value: q.group, Options: figure.Options(groups...)},
		{Key: "priority", Label: "Priority", Kind: figure.Choice, Group: "Somebody adds", Value: strconv.Itoa(q.class), Options: classes},
		{Key: "one", Label: "Add one", Kind: figure.Button, Group: "Somebody adds", Off: full},
		{Key: "five", Label: "Add five", Kind: figure.Button, Group: "Somebody adds", Off: full},
		{Key: "raise", Label: "Add the last one again", Kind: figure.Button, Group: "Somebody adds", Off: empty},
		{Key: "fair", Label: "Namespaces take turns", Kind: figure.Check, Group: "The queue", Value: strconv.FormatBool(q.fair)},
		{Key: "patience", Label: "Patience", Kind: figure.Range, Group: "The queue", Value: strconv.Itoa(q.patience), Min: 1, Max: 8},
	}
}

func (q *priority) Do(action figure.Action) string {
	switch action.Key {
	case "group":
		q.group = action.Value
		return "What is added next is of " + q.group + ", with " + nameOf(q.class) + "."
	case "priority":
		q.class, _ = strconv.Atoi(action.Value)
		return "What is added next is of " + q.group + ", with " + nameOf(q.class) + "."
	case "one":
		q.add(1)
		return "An item of " + q.group + " waits, with " + nameOf(q.class) + "."
	case "five":
		q.add(5)
		return "Items of " + q.group + " wait, with " + nameOf(q.class) + "."
	case "raise":
		return q.raise()
	case "serve":
		return q.serve()
	case "fair":
		q.fair = action.Value == "true"
		q.rebuild()
		if q.fair {
			return "Each namespace has a lane, and the lanes take turns. The queue is filled again, in the order of adding."
		}
		return "All items of a priority are in one lane. The queue is filled again, in the order of adding."
	case "patience":
		q.patience, _ = strconv.Atoi(action.Value)
		q.rebuild()
		pops := " pops"
		if q.patience == 1 {
			pops = " pop"
		}
		return "A level may wait for " + strconv.Itoa(q.patience) + pops + ". Then it has its turn, whatever waits above. The queue is filled again, in the order of adding."
	}
	return ""
}

func (q *priority) add(n int) {
	for range min(n, most-len(q.waiting)) {
		q.made[q.group]++
		one := added{q.group[:1] + strconv.Itoa(q.made[q.group]), q.group, q.class}
		q.waiting = append(q.waiting, one)
		q.cores.Add(one.item, one.group, one.class)
	}
}

func (q *priority) raise() string {
	last := &q.waiting[len(q.waiting)-1]
	before := q.cores.Entry(last.item).Priority
	q.cores.Add(last.item, last.group, q.class)
	last.class = q.cores.Entry(last.item).Priority
	if last.class == before {
		return "merged: " + last.item + " waits with " + nameOf(before) + " already, and the highest of all adds counts."
	}
	return "merged: " + last.item + " waits already, but somebody needs it sooner. It is lifted from " + nameOf(before) + " to " + nameOf(last.class) + "."
}

// rebuild makes another queue of the items that wait.
func (q *priority) rebuild() {
	q.cores = workqueue.NewPriorityCores(q.patience, q.fair)
	for _, one := range q.waiting {
		q.cores.Add(one.item, one.group, one.class)
	}
}

func (q *priority) serve() string {
	why := q.why()
	item, _, ok := q.cores.Get()
	if !ok {
		return ""
	}
	q.cores.Done(item)
	q.served = append(q.served, item)
	for i, one := range q.waiting {
		if one.item == item {
			q.waiting = append(q.waiting[:i:i], q.waiting[i+1:]...)
			break
		}
	}
	return item + " was served: " + why
}

// next is the item that is served next, by the queue's rules.
func (q *priority) next() (class int, lane workqueue.Lane, ok bool) {
	levels := q.cores.Levels()
	if len(levels) == 0 {
		return 0, lane, false
	}
	class = q.cores.NextLevel()
	for _, level := range levels {
		if level.Priority == class {
			return class, level.Lanes[0], true
		}
	}
	return 0, lane, false
}

// why is the reason for next.
func (q *priority) why() string {
	class, lane, ok := q.next()
	if !ok {
		return ""
	}
	levels := q.cores.Levels()
	reason := nameOf(class) + " is the highest"
	for _, level := range levels {
		if level.Priority == class && level.Waited > q.patience {
			reason = nameOf(class) + " has waited for " + strconv.Itoa(level.Waited) + " pops, more than the patience of " + strconv.Itoa(q.patience)
		}
	}
	if len(levels) == 1 {
		reason = "only " + nameOf(class) + " has items"
	}
	for _, level := range levels {
		if level.Priority == class && len(level.Lanes) > 1 {
			return reason + ", and it is the turn of " + lane.Group + "."
		}
	}
	return reason + "."
}

func nameOf(class int) string { return "priority " + strconv.Itoa(class) }

func (q *priority) Words() string {
	var words []string
	for _, level := range q.cores.Levels() {
		var lanes []string
		for _, lane := range level.Lanes {
			lanes = append(lanes, strings.TrimSpace(lane.Group+" "+strings.Join(lane.Items, " ")))
		}
		words = append(words, nameOf(level.Priority)+": "+strings.Join(lanes, "; ")+".")
	}
	if _, lane, ok := q.next(); ok {
		words = append(words, "Next is "+lane.Items[0]+".")
	}
	if len(q.served) > 0 {
		words = append(words, "Served so far: "+strings.Join(q.served, " ")+".")
	}
	if len(words) == 0 {
		return "Nothing waits."
	}
	return strings.Join(words, " ")
}

func (q *priority) Draw(p *draw.Page) {
	levels := q.cores.Levels()
	class, _, ok := q.next()
	for _, level := range levels {
		waited := "at the next pop it has waited for " + strconv.Itoa(level.Waited) + "; the patience is " + strconv.Itoa(q.patience)
		if p.Narrow() {
			waited = "waited for " + strconv.Itoa(level.Waited) + ", patience " + strconv.Itoa(q.patience)
		}
		p.Heading("Priority "+strconv.Itoa(level.Priority), waited)
		p.Panel(func() { q.drawLanes(p, level, ok && level.Priority == class) })
	}
	if len(levels) == 0 {
		p.Heading("Nothing waits", "")
	}
	p.Heading("Served", "the last one is on the right")
	var chips []draw.Chip
	room := 11
	if p.Narrow() {
		room = 6
	}
	for _, item := range q.served[max(0, len(q.served)-room):] {
		chips = append(chips, draw.Chip{Text: item, Class: tintOfGroup(item)})
	}
	p.Panel(func() { p.Row(draw.Margin, chips, "nothing yet") })
}

func (q *priority) drawLanes(p *draw.Page, level workqueue.Level, turn bool) {
	for i, lane := range level.Lanes {
		x := float64(draw.Margin)
		if lane.Group != "" {
			p.Text("", x, p.Y+20, lane.Group)
			x += 52
		}
		var chips []draw.Chip
		for n, item := range lane.Items {
			chip := draw.Chip{Text: item, Class: tintOfGroup(item)}
			if turn && i == 0 && n == 0 {
				chip.Class += " chosen"
				chip.Mark = "next"
			}
			chips = append(chips, chip)
		}
		p.Row(x, chips, "")
		p.Y += 6
	}
	p.Y -= 6
}

func tintOfGroup(item string) string {
	return map[byte]string{'s': "tint1", 'b': "tint2", 'd': "tint3"}[item[0]]
}
